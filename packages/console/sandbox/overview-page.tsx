import { Facts } from '../shared/components/facts.tsx'
import { Form } from '../shared/components/form.tsx'
import { Badge, Card, Page, Skeleton } from '../shared/components/page.tsx'
import { Refusal } from '../shared/components/reply.tsx'
import { Table } from '../shared/components/table.tsx'
import { api, type Clock, type Faults, type Switches, setControlToken, useCurrent } from './api.ts'
import { aheadText } from './clock-page.tsx'

const METHODS = [
  { number: '4242 4242 4242 4242', outcome: 'succeeds' },
  { number: '4000 0000 0000 0002', outcome: 'declined; the session stays open' },
  { number: '4000 0025 0000 3155', outcome: 'the bank asks first (3-D Secure)' },
  { number: '4000 0000 0000 7726', outcome: 'succeeds; refunds are pending, then succeed' },
  { number: '4000 0000 0000 5126', outcome: 'succeeds; refunds succeed, then fail' },
  { number: '000123456789', outcome: 'bank debit; settles later' },
  { number: '000111111113', outcome: 'bank debit; fails later' },
]

export function OverviewPage() {
  return (
    <Page
      title="Sandbox payment provider"
      about="A stand-in for the payment provider, on this machine. No money moves, no account is needed, and it fails on demand."
    >
      <StateCard />
      <Card
        title="Test cards and accounts"
        about="For the hosted page of a checkout session, with any date in the future and any CVC."
      >
        <Table
          caption="Test cards and accounts"
          rows={METHODS}
          keyOf={({ number }) => number}
          columns={[
            { title: 'Number', of: ({ number }) => <code>{number}</code> },
            { title: 'Outcome', of: ({ outcome }) => outcome },
          ]}
        />
      </Card>
    </Page>
  )
}

function StateCard() {
  const clock = useCurrent((options) => api.get('/sandbox/api/clock', options))
  const faults = useCurrent((options) => api.get('/sandbox/api/faults', options))
  const switches = useCurrent((options) => api.get('/sandbox/api/switches', options))
  return (
    <Card title="How it behaves now" about="Everything that differs from a healthy provider.">
      <Refusal reply={clock.refusal ?? faults.refusal ?? switches.refusal} />
      {clock.refusal?.status === 401 && (
        <TokenForm
          onToken={() => {
            for (const part of [clock, faults, switches]) part.reload()
          }}
        />
      )}
      {clock.body && faults.body && switches.body ? (
        <Facts
          of={{
            Clock: <ClockState clock={clock.body} />,
            Faults: <FaultState {...faults.body} />,
            Switches: <SwitchState switches={switches.body} />,
          }}
        />
      ) : (
        !clock.refusal && <Skeleton />
      )}
    </Card>
  )
}

function TokenForm({ onToken }: { onToken(): void }) {
  return (
    <Form
      label="Token for the controls"
      fields={[{ label: 'Token for the controls', name: 'token', type: 'password' }]}
      action={{
        run: ({ token = '' }) => {
          setControlToken(token)
          onToken()
        },
      }}
      send="Use it"
      beside
    />
  )
}

function ClockState({ clock }: { clock: Clock }) {
  if (clock.offsetSeconds === 0) return <Badge tone="good">real time</Badge>
  return <a href="#/clock">{aheadText(clock.offsetSeconds)} ahead of real time</a>
}

function FaultState({ faults }: Faults) {
  if (faults.length === 0) return <Badge tone="good">none</Badge>
  return <a href="#/faults">{faults.map(({ kind }) => kind).join(', ')}</a>
}

function SwitchState({ switches }: { switches: Switches }) {
  const changed = changesOf(switches)
  if (changed.length === 0) return <Badge tone="good">as usual</Badge>
  return <a href="#/switches">{changed.join(', ')}</a>
}

function changesOf(switches: Switches): string[] {
  const changes: [changed: boolean, words: string][] = [
    [switches.paused, 'deliveries are held back'],
    [switches.drop.length > 0, 'events are dropped'],
    [switches.delaySeconds > 0, 'deliveries are delayed'],
    [switches.duplicates > 0, 'events are sent more than once'],
    [switches.reorder > 1, 'deliveries are reordered'],
    [switches.eventSecond !== null, 'all events claim the same second'],
    [switches.signWith !== 'current', `signed with the ${switches.signWith} secret`],
    [switches.refunds !== 'by-method', `refunds: ${switches.refunds}`],
    [switches.amountLimits, 'amount limits are enforced'],
  ]
  return changes.filter(([changed]) => changed).map(([, words]) => words)
}
