import { Button, ButtonLink } from '../../shared/parts/button.tsx'
import { Refusal } from '../../shared/parts/refusal.tsx'
import { useAction } from '../../shared/use-reply.ts'
import { api, type Checkout, newReference, type Payment } from '../api.ts'
import { noticeCheckoutUrl } from '../sandbox.ts'

/** What may be done with the checkout now; what may not says why. */
export function PaymentActions({ payment, onChange }: { payment: Payment; onChange(): void }) {
  const checkout = useAction(async (attemptReference: string) => {
    const { businessReference, amount, currency } = payment
    const description = `Payment ${businessReference}`
    const body = { businessReference, amount, currency, attemptReference, description }
    const reply = await api.post<Checkout>('/api/checkout/sessions', body)
    if (reply.ok) noticeCheckoutUrl(reply.body.checkoutUrl)
    onChange()
    return reply
  })
  const open = payment.checkoutStatus === 'OPEN'
  return (
    <>
      <div class="row">
        <Button
          icon="card"
          busy={checkout.busy}
          blocked={openBlocked(payment)}
          onClick={() => checkout.run(payment.checkoutAttemptReference ?? 'attempt-1')}
        >
          Get the hosted page
        </Button>
        <Button
          icon="refresh"
          busy={checkout.busy}
          blocked={againBlocked(payment)}
          onClick={() => checkout.run(newReference('attempt'))}
        >
          Start a new attempt
        </Button>
        {checkout.reply?.ok && (
          <ButtonLink href={checkout.reply.body.checkoutUrl} newTab kind="primary" icon="open">
            Open the hosted page
          </ButtonLink>
        )}
      </div>
      {!open && <p class="small soft">{openBlocked(payment)}</p>}
      <Refusal reply={checkout.refusal} />
    </>
  )
}

function settled({ status }: Payment): string | undefined {
  const paid = status !== 'PENDING' && status !== 'FAILED'
  return paid ? '409: the payment is settled, so there is nothing left to check out.' : undefined
}

function openBlocked(payment: Payment): string | false {
  if (payment.checkoutStatus === 'OPEN') return false
  if (settled(payment)) return settled(payment) ?? false
  return payment.checkoutStatus === 'COMPLETE' && payment.status === 'PENDING'
    ? '409: the customer has paid and the bank is still processing.'
    : 'The checkout is over: start a new attempt.'
}

function againBlocked(payment: Payment): string | false {
  if (settled(payment)) return settled(payment) ?? false
  if (payment.checkoutStatus === 'OPEN') return 'The checkout is still open: use that page.'
  return payment.checkoutStatus === 'COMPLETE' && payment.status === 'PENDING'
    ? '409: an attempt is still processing.'
    : false
}
