import { useSignal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { type FieldProps, Form, type Values } from '../../shared/components/form.tsx'
import { Card, Page } from '../../shared/components/page.tsx'
import { Loaded, Refusal, Success } from '../../shared/components/reply.tsx'
import { api, type Switches } from '../api.ts'

type Change = Partial<Switches>

export function SwitchesPage() {
  const read = useLoad(() => api.get('/sandbox/api/switches'))
  const changed = useSignal<Switches | undefined>(undefined)
  const change = async (values: Change | undefined): Promise<Reply> => {
    const reply = values
      ? await api.patch('/sandbox/api/switches', { json: values })
      : await api.delete('/sandbox/api/switches')
    if (reply.ok) changed.value = reply.body
    return reply
  }
  return (
    <Page title="Switches" about="How webhooks, refunds and limits behave from now on.">
      <Loaded of={{ ...read, body: changed.value ?? read.body }}>
        {(switches) => (
          <>
            <DeliveriesCard switches={switches} change={change} />
            <AllSwitchesCard switches={switches} change={change} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

type CardProps = { switches: Switches; change(values?: Change): Promise<Reply> }

type Toggle = {
  label: string
  about: string
  isOn(switches: Switches): boolean
  on: Change
  off: Change
}

const TOGGLES: Toggle[] = [
  {
    label: 'Hold them back',
    about: 'Deliveries wait until this is off again.',
    isOn: ({ paused }) => paused,
    on: { paused: true },
    off: { paused: false },
  },
  {
    label: 'Lose them',
    about: 'Nothing is delivered; the service must ask the provider.',
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

function DeliveriesCard({ switches, change }: CardProps) {
  const turn = useAction(change)
  return (
    <Card title="Webhook deliveries">
      <ul class="toggles">
        {TOGGLES.map(({ label, about, isOn, on, off }) => (
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
      <Refusal reply={turn.refusal} />
    </Card>
  )
}

function AllSwitchesCard({ switches, change }: CardProps) {
  const set = useAction(async (values: Values) =>
    change(changeOf(values, await eventSecondOf(values.sameSecond, switches))),
  )
  const reset = useAction(() => change())
  return (
    <Card title="All switches">
      <Form
        label="All switches"
        fields={fieldsOf(switches)}
        action={set}
        send="Set the switches"
        kind="primary"
        buttons={
          <Button icon="refresh" busy={reset.busy} onClick={() => reset.run()}>
            Back to normal
          </Button>
        }
      />
      <Refusal reply={reset.refusal} />
      {set.reply?.ok && <Success>The switches are set.</Success>}
    </Card>
  )
}

const options = (...values: string[]) => values.map((value) => ({ value, label: value }))

function fieldsOf(switches: Switches): FieldProps[] {
  const number = (name: 'delaySeconds' | 'duplicates' | 'reorder', label: string) =>
    ({ label, name, value: String(switches[name]), inputMode: 'numeric' }) as const
  const onOff = (name: string, label: string, on: boolean) => ({
    label,
    name,
    value: on ? 'on' : 'off',
    options: options('off', 'on'),
  })
  return [
    onOff('paused', 'Hold deliveries back', switches.paused),
    {
      label: 'Never deliver',
      name: 'drop',
      optional: true,
      value: switches.drop.join(' '),
      hint: 'Event types, separated by spaces; * is all.',
    },
    number('delaySeconds', 'Delay deliveries by seconds'),
    number('duplicates', 'Extra copies of each event'),
    {
      ...number('reorder', 'Send in reverse, in groups of'),
      hint: 'Below 2 nothing is reordered.',
    },
    onOff('sameSecond', 'All events claim the same second', switches.eventSecond !== null),
    {
      label: 'Sign with',
      name: 'signWith',
      options: options('current', 'second', 'both', 'wrong'),
      value: switches.signWith,
    },
    {
      label: 'Refunds',
      name: 'refunds',
      options: options('by-method', 'succeed', 'pending', 'requires-action', 'fail-later'),
      value: switches.refunds,
      hint: 'by-method leaves it to the card.',
    },
    onOff('amountLimits', 'Enforce amount limits', switches.amountLimits),
  ]
}

function changeOf(values: Values, eventSecond: number | null): Change {
  return {
    paused: values.paused === 'on',
    drop: (values.drop ?? '').split(/[\s,]+/).filter((type) => type !== ''),
    delaySeconds: Number(values.delaySeconds ?? 0),
    duplicates: Number(values.duplicates ?? 0),
    reorder: Number(values.reorder ?? 0),
    eventSecond,
    signWith: values.signWith,
    refunds: values.refunds,
    amountLimits: values.amountLimits === 'on',
  }
}

/** The second that events claim: the one already set, or the sandbox's current one. */
async function eventSecondOf(chosen: string | undefined, switches: Switches) {
  if (chosen !== 'on') return null
  if (switches.eventSecond !== null) return switches.eventSecond
  const reply = await api.get('/sandbox/api/clock', { silent: true })
  return reply.ok ? Math.floor(Date.parse(reply.body.now) / 1000) : null
}
