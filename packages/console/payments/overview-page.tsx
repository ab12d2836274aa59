import { useEffect } from 'preact/hooks'
import { ButtonLink } from '../family/parts/button.tsx'
import { Badge, Card, Notice, Skeleton } from '../family/parts/card.tsx'
import { Facts } from '../family/parts/facts.tsx'
import { Page } from '../family/parts/page.tsx'
import { Step, Steps } from '../family/parts/steps.tsx'
import { ReturnNotice } from './return-notice.tsx'
import { configuration, readConfiguration } from './sandbox.ts'

export function OverviewPage() {
  useEffect(() => {
    readConfiguration()
  }, [])
  return (
    <Page
      title="Checkout, refunds and webhooks"
      about="A local record of every payment, kept true by signed messages from the provider."
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
      <ConfigurationCard />
    </Page>
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
