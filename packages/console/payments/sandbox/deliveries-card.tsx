import { useSignal } from '@preact/signals'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Card, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { readSwitches, resetSwitches, type Switches, turnSwitches } from './controls.ts'

type Turn = {
  label: string
  about: string
  isOn(switches: Switches): boolean
  on: Partial<Switches>
  off: Partial<Switches>
}

const TURNS: Turn[] = [
  {
    label: 'Hold them back',
    about: 'Deliveries wait until this is off again.',
    isOn: ({ paused }) => paused,
    on: { paused: true },
    off: { paused: false },
  },
  {
    label: 'Lose them',
    about: 'Nothing is delivered; the service has to find out by looking.',
    isOn: ({ drop }) => drop.includes('*'),
    on: { drop: ['*'] },
    off: { drop: [] },
  },
  {
    label: 'Send each twice',
    about: 'The second one must change nothing.',
    isOn: ({ duplicates }) => duplicates > 0,
    on: { duplicates: 1 },
    off: { duplicates: 0 },
  },
  {
    label: 'Sign them wrongly',
    about: 'The service must refuse them.',
    isOn: ({ signWith }) => signWith === 'wrong',
    on: { signWith: 'wrong' },
    off: { signWith: 'current' },
  },
]

export function DeliveriesCard() {
  const read = useLoad<Switches>(readSwitches)
  const turned = useSignal<Switches | undefined>(undefined)
  const turn = useAction(async (change: Partial<Switches> | undefined) => {
    const reply = change ? await turnSwitches(change) : await resetSwitches()
    if (reply.ok) turned.value = reply.body
    return reply
  })
  const switches = turned.value ?? read.body
  return (
    <Card title="Webhook deliveries" about="How the sandbox delivers from now on.">
      {read.loading && <Skeleton />}
      <Refusal reply={read.refusal ?? turn.refusal} />
      {switches && (
        <ul class="turns">
          {TURNS.map(({ label, about, isOn, on, off }) => (
            <li key={label}>
              <Button
                pressed={isOn(switches)}
                busy={turn.busy}
                onClick={() => turn.run(isOn(switches) ? off : on)}
              >
                {label}
              </Button>
              <span class="small soft">{about}</span>
            </li>
          ))}
        </ul>
      )}
      {switches && TURNS.some(({ isOn }) => isOn(switches)) && (
        <div>
          <Button icon="refresh" busy={turn.busy} onClick={() => turn.run(undefined)}>
            Deliver as usual
          </Button>
        </div>
      )}
    </Card>
  )
}
