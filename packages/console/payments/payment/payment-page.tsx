import { useEffect } from 'preact/hooks'
import { Card, Skeleton } from '../../shared/parts/card.tsx'
import { Facts } from '../../shared/parts/facts.tsx'
import { Page } from '../../shared/parts/page.tsx'
import { Refusal } from '../../shared/parts/refusal.tsx'
import { useLoad } from '../../shared/use-reply.ts'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api, type Payment } from '../api.ts'
import { CheckoutBadge, PaymentBadge } from '../status-badges.tsx'
import { PaymentActions } from './payment-actions.tsx'
import { PaymentTimeline } from './payment-timeline.tsx'
import { RefundCard } from './refund-card.tsx'

export function PaymentPage({ id }: { id: string }) {
  const path = `/api/payments/${encodeURIComponent(id)}`
  const payment = useLoad<Payment>(() => api.get(path), [id])
  usePolling(path, payment.body?.updatedAt, payment.reload)
  return (
    <Page
      title={payment.body?.businessReference ?? 'Payment'}
      back={{ href: '#/payments', title: 'All payments' }}
    >
      {payment.loading && <Skeleton />}
      <Refusal reply={payment.refusal} />
      {payment.body && (
        <>
          <SummaryCard payment={payment.body} onChange={payment.reload} />
          <RefundCard payment={payment.body} onChange={payment.reload} />
          <PaymentTimeline id={id} version={payment.body.updatedAt} />
        </>
      )}
    </Page>
  )
}

/** Looks every two seconds whether a webhook changed the payment, quietly, and then reads it again. */
function usePolling(path: string, known: string | undefined, reload: () => void): void {
  useEffect(() => {
    const timer = setInterval(async () => {
      const reply = await api.get<Payment>(path, { silent: true })
      if (known && reply.ok && reply.body.updatedAt !== known) reload()
    }, 2000)
    return () => clearInterval(timer)
  })
}

function SummaryCard({ payment, onChange }: { payment: Payment; onChange(): void }) {
  const { amount, refundedAmount, currency } = payment
  return (
    <Card
      title={<span role="status">{moneyText(amount, currency)}</span>}
      about={`${moneyText(refundedAmount, currency)} refunded, ${moneyText(amount - refundedAmount, currency)} kept`}
      actions={
        <>
          <PaymentBadge payment={payment} />
          <CheckoutBadge payment={payment} />
        </>
      }
    >
      <Facts
        of={{
          'Payment id': <code>{payment.id}</code>,
          Attempt: payment.checkoutAttemptReference,
          'Checkout session': payment.providerCheckoutSessionId && (
            <code>{payment.providerCheckoutSessionId}</code>
          ),
          'Payment intent': payment.providerPaymentIntentId && (
            <code>{payment.providerPaymentIntentId}</code>
          ),
          Customer: payment.providerCustomerId,
          Created: dateText(payment.createdAt),
          Updated: dateText(payment.updatedAt),
        }}
      />
      <PaymentActions payment={payment} onChange={onChange} />
    </Card>
  )
}
