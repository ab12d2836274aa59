import type { Payment, Timeline } from '@plinth/client'
import { useEffect } from 'preact/hooks'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Id } from '../../shared/components/code.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { Card, Page } from '../../shared/components/page.tsx'
import { Loaded, Refusal } from '../../shared/components/reply.tsx'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api } from '../api.ts'
import { PaymentActions } from './payment-actions.tsx'
import { PaymentTimeline } from './payment-timeline.tsx'
import { RefundCard } from './refund-card.tsx'
import { CheckoutBadge, PaymentBadge } from './status-badges.tsx'
import { explained } from './timeline.ts'

export function PaymentPage({ id }: { id: string }) {
  const payment = useLoad(() => api.get('/api/payments/{id}', { path: { id } }), [id])
  const timeline = useLoad(() => api.get('/api/payments/{id}/timeline', { path: { id } }), [id])
  const reload = async () => {
    await Promise.all([payment.reload(), timeline.reload()])
  }
  usePolling(id, versionOf(payment.body, timeline.body), reload)
  return (
    <Page
      title={payment.body?.businessReference ?? 'Payment'}
      back={{ href: '#/payments', title: 'All payments' }}
    >
      <Loaded of={payment}>
        {(payment) => (
          <>
            <SummaryCard payment={payment} timeline={timeline.body} reload={reload} />
            <RefundCard payment={payment} timeline={timeline.body} onChange={reload} />
            <Refusal reply={timeline.refusal} />
            {timeline.body && (
              <PaymentTimeline timeline={timeline.body} currency={payment.currency} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** Polls every two seconds, outside the inspector, and reloads when there is anything new. */
function usePolling(id: string, known: string | undefined, reload: () => void): void {
  useEffect(() => {
    if (!known) return
    const call = { path: { id }, silent: true }
    const timer = setInterval(async () => {
      const [payment, timeline] = await Promise.all([
        api.get('/api/payments/{id}', call),
        api.get('/api/payments/{id}/timeline', call),
      ])
      const history = timeline.ok ? timeline.body : undefined
      if (payment.ok && versionOf(payment.body, history) !== known) reload()
    }, 2000)
    return () => clearInterval(timer)
  })
}

/** An event that changes nothing still adds an observation. */
function versionOf(payment: Payment | undefined, timeline: Timeline | undefined) {
  return payment && `${payment.updatedAt} ${timeline?.observations?.length ?? 0}`
}

function SummaryCard(props: { payment: Payment; timeline?: Timeline; reload(): void }) {
  const { payment, timeline } = props
  return (
    <Card
      title={moneyText(payment.amount, payment.currency)}
      about={moneySummary(payment)}
      actions={
        <span class="row" role="status">
          <PaymentBadge payment={payment} />
          <CheckoutBadge payment={payment} />
        </span>
      }
    >
      {timeline && <p>{explained(timeline)}</p>}
      <PaymentActions payment={payment} timeline={timeline} onChange={props.reload} />
      <details>
        <summary>All fields</summary>
        <PaymentFacts payment={payment} />
      </details>
    </Card>
  )
}

function moneySummary({ status, amount, refundedAmount, currency }: Payment): string {
  if (status === 'PENDING') return 'Nothing has been paid yet'
  if (status === 'FAILED') return 'Nothing was paid'
  const kept = moneyText(amount - refundedAmount, currency)
  return `${moneyText(refundedAmount, currency)} refunded, ${kept} kept`
}

function PaymentFacts({ payment }: { payment: Payment }) {
  const id = (value: string | null) => value && <Id of={value} />
  return (
    <Facts
      of={{
        'Payment id': id(payment.id),
        Attempt: payment.checkoutAttemptReference,
        'Checkout session': id(payment.providerCheckoutSessionId),
        'Payment intent': id(payment.providerPaymentIntentId),
        Customer: id(payment.providerCustomerId),
        Created: dateText(payment.createdAt),
        Updated: dateText(payment.updatedAt),
      }}
    />
  )
}
