import type { Payment } from '@plinth/client'
import { useEffect } from 'preact/hooks'
import { useLoad } from '../shared/api/use-reply.ts'
import { ButtonLink } from '../shared/components/button.tsx'
import { Badge, Card, Notice, Page, Skeleton } from '../shared/components/page.tsx'
import { Step, Steps } from '../shared/components/steps.tsx'
import { Facts } from '../shared/components/table.tsx'
import { moneyText } from '../shared/wording.ts'
import { api } from './api.ts'
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
      <ReturnNotice />
      <Card title="Try it in three steps" about="With the sandbox provider no money moves.">
        <Steps>
          <Step title="Create a checkout" state="next">
            <ButtonLink href="#/checkout" kind="primary" icon="card">
              New checkout
            </ButtonLink>
          </Step>
          <Step title="Pay on the hosted page" state="later">
            <p class="soft">Pay, decline or let it expire; the page says what each choice does.</p>
          </Step>
          <Step title="Watch the webhook arrive, then refund" state="later">
            <ButtonLink href="#/payments">Payments</ButtonLink>
          </Step>
        </Steps>
      </Card>
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
        <ButtonLink href={sandboxPage.value} newTab icon="sliders">
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
                Customers, checkout and refunds answer 503 until <code>PROVIDER_SECRET_KEY</code> is
                set. Reading payments works.
              </p>
            </Notice>
          )}
          {!known.webhookConfigured && (
            <Notice tone="warn">
              <p>
                Webhooks answer 503 until <code>PROVIDER_WEBHOOK_SECRET</code> is set.
              </p>
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

const WORDS: Record<string, string> = {
  success: 'The customer is back from the hosted page.',
  cancelled: 'The customer left the hosted page without paying.',
}

/** Where the hosted page sends the customer back to, when no other page is configured. */
function ReturnNotice() {
  const outcome = new URLSearchParams(location.search).get('checkout')
  const words = outcome && WORDS[outcome]
  return words ? <Returned words={words} good={outcome === 'success'} /> : null
}

function Returned({ words, good }: { words: string; good: boolean }) {
  const newest = useLoad<{ content: Payment[] }>(() =>
    api.get('/api/payments?size=1&sort=updatedAt,desc'),
  )
  const payment = newest.body?.content[0]
  return (
    <Notice tone={good ? 'good' : 'warn'}>
      <p role="status">
        <strong>{words}</strong> A return is only a visit: what counts is the signed webhook.
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
