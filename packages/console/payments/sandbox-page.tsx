import { ButtonLink } from '../family/parts/button.tsx'
import { Card, EmptyState } from '../family/parts/card.tsx'
import { Page } from '../family/parts/page.tsx'
import { Table } from '../family/parts/table.tsx'
import { inSandbox, sandboxUrl } from './sandbox.ts'

export function SandboxMark() {
  if (!inSandbox.value) return null
  return <strong class="sandbox-mark">SANDBOX</strong>
}

export function SandboxPage() {
  return (
    <Page
      title="Sandbox"
      about="A stand-in for the payment provider, on this machine. No money moves, no account is needed. Its controls open in a tab of their own."
    >
      {sandboxUrl.value ? <Controls base={sandboxUrl.value} /> : <NoSandbox />}
    </Page>
  )
}

const CONTROLS = [
  {
    part: 'clock',
    title: 'Clock',
    about: 'Move time ahead: checkouts expire, bank debits settle, refunds come through.',
  },
  {
    part: 'faults',
    title: 'Faults',
    about: 'Make the next calls slow, hang, fail or be limited, before or after their effect.',
  },
  {
    part: 'deliveries',
    title: 'Deliveries',
    about: 'Every webhook with every attempt; send one again.',
  },
  {
    part: 'switches',
    title: 'Switches',
    about: 'Drop, delay, duplicate, reorder or mis-sign what is delivered.',
  },
]

const CARDS = [
  { number: '4242 4242 4242 4242', outcome: 'succeeds' },
  { number: '4000 0000 0000 0002', outcome: 'declined; the page stays open for another try' },
  { number: '4000 0025 0000 3155', outcome: 'the bank asks first' },
  { number: '4000 0000 0000 7726', outcome: 'succeeds; refunds are pending, then succeed' },
  { number: '4000 0000 0000 5126', outcome: 'succeeds; refunds succeed, then fail' },
]

function Controls({ base }: { base: string }) {
  return (
    <>
      <div class="columns">
        {CONTROLS.map(({ part, title, about }) => (
          <Card key={part} title={title} about={about}>
            <div>
              <ButtonLink href={`${base}/sandbox#${part}`} newTab icon="open">
                Open {part}
              </ButtonLink>
            </div>
          </Card>
        ))}
      </div>
      <Card
        title="Test cards"
        about="For the hosted page, with any date in the future and any CVC."
      >
        <Table
          caption="Test cards"
          rows={CARDS}
          keyOf={({ number }) => number}
          columns={[
            { title: 'Card', of: ({ number }) => <code>{number}</code> },
            { title: 'What happens', of: ({ outcome }) => outcome },
          ]}
        />
      </Card>
    </>
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
