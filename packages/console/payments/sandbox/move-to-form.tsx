import { useSignal } from '@preact/signals'
import { Button } from '../../shared/components/button.tsx'
import { Field, Form } from '../../shared/components/form.tsx'
import type { Clock } from './controls.ts'

type MoveToProps = { clock: Clock; busy: boolean; onMove(seconds: number): void }

export function MoveToForm({ clock, busy, onMove }: MoveToProps) {
  const fault = useSignal<string | undefined>(undefined)
  const send = ({ moment = '' }: Record<string, string>) => {
    const there = Date.now() + clock.offsetSeconds * 1000
    const seconds = Math.ceil((new Date(moment).getTime() - there) / 1000)
    fault.value = seconds > 0 ? undefined : 'Choose a moment that is still to come there.'
    if (seconds > 0) onMove(seconds)
  }
  return (
    <Form label="Move the clock to a moment" onSend={send}>
      <div class="row beside">
        <div class="grow">
          <Field label="Or to" name="moment" type="datetime-local" fault={fault.value} />
        </div>
        <Button submits busy={busy}>
          Move there
        </Button>
      </div>
    </Form>
  )
}
