import '../../shared/styles/index.css'
import './health.css'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { useAction } from '../../shared/api/use-reply.ts'
import { Form } from '../../shared/components/form.tsx'
import { PlinthMark } from '../../shared/components/icon.tsx'
import { Card, Notice, Skeleton } from '../../shared/components/page.tsx'
import { AppearanceButton } from '../../shared/shell/appearance.tsx'
import { sizeText } from '../../shared/wording.ts'
import { disksOf, lineOf, type Point, points, readHistory, state, unlock } from './history.ts'
import { Plot } from './plot.tsx'

const root = document.getElementById('app')
if (root) render(<HealthPage />, root)

const POLL_MILLISECONDS = 10_000

function HealthPage() {
  useEffect(() => {
    readHistory()
    const timer = setInterval(readHistory, POLL_MILLISECONDS)
    return () => clearInterval(timer)
  }, [])
  return (
    <div class="health">
      <header class="row apart">
        <a class="row wordmark" href="../">
          <PlinthMark /> Plinth
        </a>
        <AppearanceButton />
      </header>
      <main class="stack wide">
        <div>
          <h1>Health</h1>
          <p class="soft">
            The last hour of this process, in steps of ten seconds. A restart clears it; Prometheus
            keeps more.
          </p>
        </div>
        <Content />
      </main>
    </div>
  )
}

function Content() {
  if (state.value === 'locked') return <TokenCard />
  if (state.value === 'loading') return <Skeleton />
  const all = points.value ?? []
  return (
    <>
      {state.value === 'unreachable' && (
        <Notice tone="warn" alert>
          <p>
            <strong>There are no new figures.</strong> The service does not answer; this page tries
            again every few seconds.
          </p>
        </Notice>
      )}
      {serviceNames(all).map((name) => (
        <ServiceCard key={name} name={name} all={all} />
      ))}
      <QueueCard all={all} />
      <DiskCard all={all} />
    </>
  )
}

/** Services that had requests within the hour. */
function serviceNames(all: Point[]): string[] {
  return [...new Set(all.flatMap(({ services }) => Object.keys(services)))].sort()
}

function ServiceCard({ name, all }: { name: string; all: Point[] }) {
  const line = (value: 'rate' | 'failures' | 'p50' | 'p99') =>
    lineOf(all, ({ services }) => services[name]?.[value])
  return (
    <div data-service={name}>
      <Card title={name}>
        <div class="plots">
          <Plot
            title="Requests per second"
            series={[{ name: 'requests', line: line('rate') }]}
            text={rateText}
          />
          <Plot
            title="Time per request"
            series={[
              { name: 'p99', line: line('p99') },
              { name: 'p50', line: line('p50'), tone: 'soft' },
            ]}
            text={timeText}
          />
          <Plot
            title="Failures per second"
            series={[{ name: 'failures', line: line('failures'), tone: 'bad' }]}
            text={rateText}
          />
        </div>
      </Card>
    </div>
  )
}

function QueueCard({ all }: { all: Point[] }) {
  const names = Object.keys(all.at(-1)?.queues ?? {})
  if (names.length === 0) return null
  return (
    <Card title="Queues" about="Waiting work. It should drop again after a busy moment.">
      <div class="plots">
        {names.map((name) => {
          const line = lineOf(all, ({ queues }) => queues[name])
          return <Plot key={name} title={name} series={[{ name, line }]} text={String} />
        })}
      </div>
    </Card>
  )
}

function DiskCard({ all }: { all: Point[] }) {
  const disks = disksOf(all)
  if (disks.length === 0) return null
  return (
    <Card title="Disk" about="Space left for data and files.">
      <div class="plots">
        {disks.map(({ names, sizeBytes, free }) => (
          <Plot
            key={names.join()}
            title={`Free for ${names.join(', ')}`}
            series={[{ name: 'free', line: free }]}
            text={sizeText}
            top={sizeBytes}
          />
        ))}
      </div>
    </Card>
  )
}

function TokenCard() {
  const action = useAction(({ token = '' }) => unlock(token))
  return (
    <Card
      title="Token"
      about="The listener asks for the token that its operator chose. It stays in the memory of this page."
    >
      <Form
        label="Token"
        fields={[{ label: 'Token', name: 'token', type: 'password' }]}
        action={action}
        send="Show the figures"
        kind="primary"
        beside
        advice="This is not the token of the listener."
      />
    </Card>
  )
}

function rateText(value: number): string {
  if (value === 0 || value >= 100) return String(Math.round(value))
  return value.toFixed(value >= 10 ? 1 : 2)
}

function timeText(seconds: number): string {
  const milliseconds = seconds * 1000
  if (milliseconds >= 1000) return `${seconds.toFixed(1)} s`
  return `${milliseconds.toFixed(milliseconds >= 10 ? 0 : 1)} ms`
}
