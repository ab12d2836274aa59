import type { Payment, Timeline } from '@plinth/client'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { CARD } from '../../shared/components/icon.tsx'
import { Refusal, Success } from '../../shared/components/reply.tsx'
import { api, newReference } from '../api.ts'

type ActionProps = { payment: Payment; timeline?: Timeline; onChange(): void }

/** What can be done with the checkout now, and why the rest is blocked. */
export function PaymentActions({ payment, timeline, onChange }: ActionProps) {
  const again = useAction(() => {
    const { businessReference, amount, currency } = payment
    return api.post('/api/checkout/sessions', {
      json: {
        ...{ businessReference, amount, currency },
        attemptReference: newReference('attempt'),
        description: `Payment ${businessReference}`,
      },
    })
  }, onChange)
  const check = useAction(
    () => api.post('/api/payments/{id}/check', { path: { id: payment.id } }),
    onChange,
  )
  const page = timeline?.attempts.findLast(({ state }) => state === 'open')?.url
  const blocked = blockedBecause(payment)
  return (
    <>
      <div class="row">
        {page ? (
          <ButtonLink href={page} newTab kind="primary">
            Open the hosted page
          </ButtonLink>
        ) : (
          <Button icon={CARD} busy={again.busy} blocked={blocked} onClick={() => again.run()}>
            Start a new attempt
          </Button>
        )}
        <Button icon="refresh" busy={check.busy} onClick={() => check.run()}>
          Check now
        </Button>
        {!page && blocked && <span class="small soft">{blocked}</span>}
      </div>
      <Refusal reply={again.refusal ?? check.refusal} />
      {check.reply?.ok && <Success>Checked with the provider: this is the current state.</Success>}
    </>
  )
}

function blockedBecause({ status, checkoutStatus }: Payment): string | false {
  if (status !== 'PENDING' && status !== 'FAILED')
    return 'The payment is settled, so there is nothing left to pay.'
  if (checkoutStatus === 'COMPLETE' && status === 'PENDING')
    return 'The customer has paid and the money is still on its way.'
  return false
}
