import { useLoad } from '../../shared/api/use-reply.ts'
import { ButtonLink } from '../../shared/components/button.tsx'
import { Card, EmptyState, Notice, Page, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { Table } from '../../shared/components/table.tsx'
import { sandboxUrl } from '../provider.tsx'
import { ClockCard } from './clock-card.tsx'
import { type Clock, readClock } from './controls.ts'
import { DeliveriesCard } from './deliveries-card.tsx'
import { FaultsCard } from './faults-card.tsx'
import './sandbox.css'

const CARDS = [
  { number: '4242 4242 4242 4242', outcome: 'succeeds' },
  { number: '4000 0000 0000 0002', outcome: 'declined; the page stays open for another try' },
  { number: '4000 0025 0000 3155', outcome: 'the bank asks first' },
  { number: '4000 0000 0000 7726', outcome: 'succeeds; refunds are pending, then succeed' },
  { number: '4000 0000 0000 5126', outcome: 'succeeds; refunds succeed, then fail' },
]

export function SandboxPage() {
  return (
    <Page
      title="Sandbox"
      about="A stand-in for the payment provider, on this machine. No money moves, no account is needed, and it fails when you tell it to."
    >
      {sandboxUrl.value ? <Sandbox base={sandboxUrl.value} /> : <NoSandbox />}
    </Page>
  )
}

function Sandbox({ base }: { base: string }) {
  return (
    <>
      <Controls />
      <TestCards />
      <Card
        title="Everything else"
        about="Every session, delivery, request and refund, the books, and scenarios to save and to load, on the sandbox’s own page."
      >
        <div>
          <ButtonLink href={`${base}/sandbox`} newTab icon="open">
            Open the sandbox’s page
          </ButtonLink>
        </div>
      </Card>
    </>
  )
}

/** A service in production, or with another stand-in behind it, does not hand the controls on. */
function Controls() {
  const clock = useLoad<Clock>(readClock)
  if (clock.refusal?.status === 404)
    return (
      <Notice tone="warn">
        <p>
          This service does not hand on the controls of its provider: use the provider’s own page.
        </p>
      </Notice>
    )
  if (!clock.body) return clock.loading ? <Skeleton /> : <Refusal reply={clock.refusal} />
  return (
    <>
      <ClockCard first={clock.body} />
      <FaultsCard />
      <DeliveriesCard />
    </>
  )
}

function TestCards() {
  return (
    <Card title="Test cards" about="For the hosted page, with any date in the future and any CVC.">
      <Table
        caption="Test cards"
        rows={CARDS}
        keyOf={({ number }) => number}
        columns={[
          { title: 'Card', of: ({ number }) => <code>{number}</code> },
          { title: 'Outcome', of: ({ outcome }) => outcome },
        ]}
      />
    </Card>
  )
}

function NoSandbox() {
  return (
    <EmptyState
      icon="sliders"
      title="A real provider is behind this service"
      about="Set PROVIDER_API_BASE to a sandbox provider to try things without moving money."
    />
  )
}
