/** The part of the landing page for administrators. It is a program of its own, loaded when someone asks for it. */
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Form } from '../../shared/components/form.tsx'
import { Badge, Card, Notice } from '../../shared/components/page.tsx'
import { Table } from '../../shared/components/table.tsx'
import { sizeText } from '../../shared/wording.ts'
import { readServices, services } from '../services.ts'
import { Chart } from './chart.tsx'
import { Checklist } from './checklist.tsx'
import {
  type Figures,
  figures,
  type Interval,
  isSignedIn,
  mfaToken,
  type RecentRequest,
  read,
  requests,
  signIn,
  signOut,
} from './figures.ts'

const POLL_MILLISECONDS = 5000

const root = document.getElementById('home')
if (root) render(<Home />, root)

function Home() {
  useEffect(() => void readServices(), [])
  if (!isSignedIn.value || !figures.value) return <SignIn />
  return <SignedIn figures={figures.value} />
}

function SignIn() {
  const action = useAction(signIn)
  const isDemo = services.value?.some(({ logins }) => logins.length > 0)
  const demo = { username: 'admin', password: 'password123123' }
  return (
    <Card title="For administrators" about="Sign in with an account of Identity.">
      {isDemo && !mfaToken.value && (
        <div class="row">
          <Button icon="person" onClick={() => action.run(demo)}>
            Sign in as admin
          </Button>
        </div>
      )}
      <Form
        label="Sign in"
        fields={
          mfaToken.value
            ? [{ label: 'Code', name: 'code', autocomplete: 'one-time-code', focused: true }]
            : [
                { label: 'Username', name: 'username', autocomplete: 'username' },
                {
                  label: 'Password',
                  name: 'password',
                  type: 'password',
                  autocomplete: 'current-password',
                },
              ]
        }
        action={action}
        send="Sign in"
        kind="primary"
      />
    </Card>
  )
}

type Count = Exclude<keyof Interval, 'at' | 'storedBytes'>

const COUNTS: { name: Count; title: string; unit: [one: string, many: string] }[] = [
  { name: 'signIns', title: 'Sign-ins', unit: ['sign-in', 'sign-ins'] },
  { name: 'newUsers', title: 'New users', unit: ['user', 'users'] },
  { name: 'payments', title: 'Payments', unit: ['payment', 'payments'] },
  { name: 'refunds', title: 'Refunds', unit: ['refund', 'refunds'] },
  { name: 'failedWebhooks', title: 'Failed webhooks', unit: ['failure', 'failures'] },
]

function SignedIn({
  figures: { intervals, everySeconds, startedAt, health },
}: {
  figures: Figures
}) {
  useEffect(() => {
    const timer = setInterval(() => document.hidden || void read(), POLL_MILLISECONDS)
    return () => clearInterval(timer)
  }, [])
  const midnight = new Date().setHours(0, 0, 0, 0)
  const today = intervals.filter(({ at }) => at >= midnight)
  const since = new Date(Math.max(midnight, startedAt))
  const stored = intervals.filter(({ storedBytes }) => storedBytes !== null)
  return (
    <section class="stack" aria-labelledby="today-title">
      <div class="row apart">
        <h2 id="today-title">Today</h2>
        <Button small onClick={signOut}>
          Sign out
        </Button>
      </div>
      <p class="soft small">
        Counted by this process since {since.toLocaleTimeString([], { timeStyle: 'short' })}, in
        steps of five minutes. A restart starts again, and every node counts its own; Prometheus
        keeps more. Stored bytes are those of all nodes.
      </p>
      <HealthNotice health={health} />
      <div class="charts">
        {COUNTS.map(({ name, title, unit }) => {
          const text = (value: number) => `${value} ${unit[value === 1 ? 0 : 1]}`
          const total = today.reduce((sum, interval) => sum + interval[name], 0)
          const bars = intervals.map((interval) => ({ at: interval.at, value: interval[name] }))
          return <Chart key={name} {...{ title, bars, everySeconds, text }} figure={text(total)} />
        })}
        {stored.length > 0 && (
          <Chart
            title="Stored"
            figure={sizeText(stored.at(-1)?.storedBytes ?? 0)}
            bars={stored.map(({ at, storedBytes }) => ({ at, value: storedBytes ?? 0 }))}
            everySeconds={everySeconds}
            text={sizeText}
          />
        )}
      </div>
      <Checklist services={services.value ?? []} />
      <RequestLog />
    </section>
  )
}

function HealthNotice({ health }: { health: Figures['health'] }) {
  return (
    <ul class="row health-list" aria-label="Health of the services">
      {health.map(({ service, title, status, reason }) => (
        <li key={service}>
          <Badge tone={status === 'UP' ? 'good' : status === 'DEGRADED' ? 'warn' : 'bad'}>
            {title}: {status === 'UP' ? 'healthy' : (reason ?? status.toLowerCase())}
          </Badge>
        </li>
      ))}
    </ul>
  )
}

function RequestLog() {
  const rows = requests.value
  return (
    <Card
      title="Last requests"
      about="The newest 200 that this process answered, without probes. No addresses, bodies or secrets are kept."
    >
      {rows.length === 0 ? (
        <Notice>There were none yet.</Notice>
      ) : (
        <div class="request-log">
          <Table<RecentRequest>
            caption="Last requests"
            rows={rows}
            keyOf={({ service, at, requestId }) => `${service} ${at} ${requestId}`}
            columns={[
              { title: 'Time', of: ({ at }) => new Date(at).toLocaleTimeString() },
              { title: 'Service', of: ({ service }) => service },
              { title: 'Method', of: ({ method }) => method },
              { title: 'Route', of: ({ route }) => <code>{route ?? 'none'}</code> },
              { title: 'Status', of: ({ status }) => <StatusOf status={status} />, number: true },
              { title: 'Took', of: ({ milliseconds }) => `${milliseconds} ms`, number: true },
              { title: 'Who', of: ({ who }) => who ?? '–' },
            ]}
          />
        </div>
      )}
    </Card>
  )
}

function StatusOf({ status }: { status: number }) {
  return <Badge tone={status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'}>{status}</Badge>
}
