import { useSignal } from '@preact/signals'
import { useAction } from '../shared/api/use-reply.ts'
import { now } from '../shared/clock.ts'
import { Button } from '../shared/components/button.tsx'
import { Form, type Values } from '../shared/components/form.tsx'
import { Badge, Card, Page } from '../shared/components/page.tsx'
import { Loaded, Refusal } from '../shared/components/reply.tsx'
import { momentText, remainingText } from '../shared/wording.ts'
import { api, type Clock, useCurrent } from './api.ts'

const JUMPS = [
  { label: '+1 minute', seconds: 60 },
  { label: '+1 hour', seconds: 3600 },
  { label: '+1 day', seconds: 86_400 },
  { label: '+7 days', seconds: 604_800 },
]

export function ClockPage() {
  const clock = useCurrent((options) => api.get('/sandbox/api/clock', options))
  return (
    <Page
      title="Clock"
      about="Move time ahead instead of waiting: open sessions expire after a day, bank debits and pending refunds settle after 30 seconds."
    >
      <Loaded of={clock}>{(body) => <ClockCard clock={body} reload={clock.reload} />}</Loaded>
    </Page>
  )
}

function ClockCard({ clock, reload }: { clock: Clock; reload(): Promise<void> }) {
  const move = useAction(
    (seconds: number | undefined) =>
      seconds === undefined
        ? api.delete('/sandbox/api/clock')
        : api.post('/sandbox/api/clock/advance', { json: { seconds } }),
    reload,
  )
  const realTime = clock.offsetSeconds === 0
  return (
    <Card title="Time at the provider">
      <Reading clock={clock} moved={move.reply?.ok ?? false} />
      <fieldset class="choices">
        <legend>Move ahead by</legend>
        {JUMPS.map(({ label, seconds }) => (
          <Button key={label} busy={move.busy} onClick={() => move.run(seconds)}>
            {label}
          </Button>
        ))}
      </fieldset>
      <MoveToForm clock={clock} busy={move.busy} onMove={move.run} />
      <div>
        <Button
          icon="refresh"
          busy={move.busy}
          blocked={realTime && 'It is already real time.'}
          onClick={() => move.run(undefined)}
        >
          Back to real time
        </Button>
      </div>
      <Refusal reply={move.refusal} />
    </Card>
  )
}

function Reading({ clock, moved }: { clock: Clock; moved: boolean }) {
  const ahead = clock.offsetSeconds
  return (
    <div class="stack tight">
      <p class="row">
        <strong class="reading">{momentText(now.value + ahead * 1000)}</strong>
        {ahead === 0 ? (
          <Badge tone="good">real time</Badge>
        ) : (
          <Badge tone="warn">{aheadText(ahead)} ahead</Badge>
        )}
      </p>
      <p class="small soft" role="status">
        {moved && ahead > 0 && 'Moved. Everything that became due on the way is done.'}
        {moved && ahead === 0 && 'Back. Everything that was done on the way stays.'}
      </p>
    </div>
  )
}

type MoveToProps = { clock: Clock; busy: boolean; onMove(seconds: number): void }

function MoveToForm({ clock, busy, onMove }: MoveToProps) {
  const fault = useSignal<string | undefined>(undefined)
  const run = ({ moment = '' }: Values) => {
    const there = Date.now() + clock.offsetSeconds * 1000
    const seconds = Math.ceil((new Date(moment).getTime() - there) / 1000)
    fault.value = seconds > 0 ? undefined : 'Choose a moment in the future of that clock.'
    if (seconds > 0) onMove(seconds)
  }
  return (
    <Form
      label="Move the clock to a moment"
      fields={[{ label: 'Or to', name: 'moment', type: 'datetime-local', fault: fault.value }]}
      action={{ run, busy }}
      send="Move there"
      beside
    />
  )
}

/** Rounded to minutes: the move itself takes a moment, so the offset is slightly short. */
export function aheadText(seconds: number): string {
  const step = seconds > 30 ? 60 : 1
  return remainingText(Math.round(seconds / step) * step * 1000)
}
