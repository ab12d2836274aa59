import type { Payment } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Reply } from '../shared/api/api.ts'
import { useLoad } from '../shared/api/use-reply.ts'
import { ButtonLink } from '../shared/components/button.tsx'
import { Facts } from '../shared/components/facts.tsx'
import { CARD } from '../shared/components/icon.tsx'
import { Badge, Card, Notice, Page, Skeleton } from '../shared/components/page.tsx'
import { Step, Steps } from '../shared/components/steps.tsx'
import { moneyText } from '../shared/wording.ts'
import { api, mayCall } from './api.ts'
import { PaymentBadge } from './payment/status-badges.tsx'
import { configuration, readConfiguration, sandboxPage } from './provider.tsx'

export function OverviewPage() {
  useEffect(() => {
    readConfiguration()
  }, [])
  return (
    <Page
      title="Checkout, refunds and webhooks"
      about="A local record of every payment, kept up to date by signed messages from the provider."
    >
      <GuidedSteps />
      <SandboxCard />
      <ConfigurationCard />
    </Page>
  )
}

function SandboxCard() {
  if (!sandboxPage.value) return null
  return (
    <Card
      title="Sandbox provider"
      about="On its page you are the customer and the bank: pay or expire a session, move the clock, hold webhooks back, make calls fail."
    >
      <div>
        <ButtonLink href={sandboxPage.value} newTab>
          Open the sandbox
        </ButtonLink>
      </div>
    </Card>
  )
}

function ConfigurationCard() {
  const known = configuration.value
  return (
    <Card
      title="What works now"
      about="The service never shows the secrets, only whether they are set."
    >
      {known ? (
        <>
          <Facts
            of={{
              'Provider API': <SetBadge set={known.providerApiConfigured} />,
              'Webhook secret': <SetBadge set={known.webhookConfigured} />,
            }}
          />
          {!known.providerApiConfigured && (
            <Notice tone="warn">
              <p>
                Customers, checkout and refunds are refused until the operator sets the provider’s
                key. Reading payments works.
              </p>
            </Notice>
          )}
          {!known.webhookConfigured && (
            <Notice tone="warn">
              <p>Webhooks are refused until the operator sets their secret.</p>
            </Notice>
          )}
        </>
      ) : (
        <Skeleton />
      )}
    </Card>
  )
}

function SetBadge({ set }: { set: boolean }) {
  return <Badge tone={set ? 'good' : 'warn'}>{set ? 'configured' : 'not configured'}</Badge>
}

const MAX_POLLS = 30

/** What the URL says about the checkout that led here. It is read late, because a sign-in may come in between. */
const returned = () => new URLSearchParams(location.search)
let isNoticed = false

function GuidedSteps() {
  const outcome = returned().get('checkout') ?? ''
  if (WORDS[outcome] && mayCall.value) return <StepsAfterReturn outcome={outcome} />
  return sandboxPage.value ? <StepsCard /> : null
}

/** Shown when the customer comes back from the hosted page. */
function StepsAfterReturn({ outcome }: { outcome: string }) {
  const found = useLoad(findReturned)
  const payment = found.body && ('content' in found.body ? found.body.content[0] : found.body)
  const isFirst = useSignal(!isNoticed)
  useEffect(() => {
    isNoticed = true
  }, [])
  const waiting = outcome === 'success' && payment && !isPaid(payment)
  const polls = useRef(0)
  // The webhook may still be on its way.
  useEffect(() => {
    polls.current += 1
    if (!waiting || polls.current > MAX_POLLS) return
    const timer = setTimeout(found.reload, 1000)
    return () => clearTimeout(timer)
  })
  return (
    <>
      {isFirst.value && <ReturnNotice payment={payment} outcome={outcome} />}
      <StepsCard payment={payment} />
    </>
  )
}

/** A URL typed by hand names no payment; then take the one that changed last. */
function findReturned(): Promise<Reply<Payment | { content: Payment[] }>> {
  const id = returned().get('payment')
  return id
    ? api.get('/api/payments/{id}', { path: { id } })
    : api.get('/api/payments', { query: 'size=1&sort=updatedAt,desc' })
}

/** A refunded payment was paid before. */
function isPaid({ status, refundedAmount }: Payment): boolean {
  return status === 'PAID' || refundedAmount > 0
}

function StepsCard({ payment }: { payment?: Payment }) {
  const paid = payment && isPaid(payment)
  const refunded = payment && payment.refundedAmount > 0
  return (
    <Card
      title={sandboxPage.value ? 'Try it in three steps' : 'A payment in three steps'}
      about={sandboxPage.value && 'With the sandbox provider no money moves.'}
    >
      <Steps>
        <Step title="Create a checkout" state={payment ? 'done' : 'next'}>
          <ButtonLink href="#/checkout" kind={payment ? 'plain' : 'primary'} icon={CARD}>
            New checkout
          </ButtonLink>
        </Step>
        <Step title="Pay on the hosted page" state={paid ? 'done' : payment ? 'next' : 'later'}>
          <p class="soft">Pay, decline or let it expire; the page says what each choice does.</p>
        </Step>
        <Step
          title="Watch the webhook arrive, then refund"
          state={refunded ? 'done' : paid ? 'next' : 'later'}
        >
          <ButtonLink
            href={payment ? `#/payments/${payment.id}` : '#/payments'}
            kind={paid ? 'primary' : 'plain'}
          >
            {payment ? 'Open the payment' : 'Payments'}
          </ButtonLink>
        </Step>
      </Steps>
    </Card>
  )
}

const WORDS: Record<string, string> = {
  success: 'The customer is back from the hosted page.',
  cancelled: 'The customer left the hosted page without paying.',
}

/** The hosted page sends the customer back here if no other page is configured. */
function ReturnNotice({ payment, outcome }: { payment?: Payment; outcome: string }) {
  return (
    <Notice tone={outcome === 'success' ? 'good' : 'warn'}>
      <p role="status">
        <strong>{WORDS[outcome]}</strong> The return itself proves nothing: only the signed webhook
        counts.
      </p>
      {payment && (
        <p class="row">
          <a href={`#/payments/${payment.id}`}>{payment.businessReference}</a>
          {moneyText(payment.amount, payment.currency)}
          <PaymentBadge payment={payment} />
        </p>
      )}
    </Notice>
  )
}
