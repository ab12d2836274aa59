import type { Payment, Refund } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { Button } from '../../family/parts/button.tsx'
import { Card, Notice } from '../../family/parts/card.tsx'
import { Form } from '../../family/parts/form.tsx'
import { faultOf, Refusal } from '../../family/parts/refusal.tsx'
import { useAction } from '../../family/use-reply.ts'
import { moneyText } from '../../family/wording.ts'
import { api, newReference } from '../api.ts'
import { RefundFields } from './refund-fields.tsx'
import { RefundList } from './refund-list.tsx'
import type { Timeline } from './timeline.ts'

type RefundProps = { payment: Payment; timeline?: Timeline; onChange(): void }

export function RefundCard({ payment, timeline, onChange }: RefundProps) {
  const reference = useSignal(newReference('refund'))
  const refund = useAction(async ({ amount, ...values }: Record<string, string>) => {
    const body = amount ? { ...values, amount: Number(amount) } : values
    const reply = await api.post<Refund>(`/api/payments/${payment.id}/refund`, body)
    if (reply.ok) reference.value = newReference('refund')
    onChange()
    return reply
  })
  const left = timeline?.refundableAmount ?? payment.amount - payment.refundedAmount
  const blocked = refundBlocked(payment, left)
  const about = blocked
    ? 'What was paid can go back, at once or in parts.'
    : `Up to ${moneyText(left, payment.currency)} can go back.`
  return (
    <Card title="Refund" about={about}>
      {blocked ? (
        <div class="row">
          <Button blocked={blocked}>Refund</Button>
          <span class="soft">{blocked}</span>
        </div>
      ) : (
        <Form label="Refund" onSend={refund.run}>
          <RefundFields
            key={reference.value}
            left={left}
            reference={reference.value}
            fault={(field) => faultOf(refund.reply, field)}
          />
          <div>
            <Button submits kind="primary" busy={refund.busy}>
              Refund
            </Button>
          </div>
        </Form>
      )}
      <Refusal reply={refund.refusal} />
      {refund.reply?.ok && <Refunded refund={refund.reply.body} />}
      <RefundList payment={payment} timeline={timeline} />
    </Card>
  )
}

function Refunded({ refund }: { refund: Refund }) {
  return (
    <Notice tone="good">
      <p role="status">
        Refund <code>{refund.id}</code> of {moneyText(refund.amount, refund.currency)}:{' '}
        <strong>{refund.status}</strong>.
      </p>
    </Notice>
  )
}

function refundBlocked(payment: Payment, left: number): string | undefined {
  const { status, providerPaymentIntentId } = payment
  if (status === 'REFUNDED') return '409: everything has been refunded.'
  if (!providerPaymentIntentId) return '409: the payment has no payment intent yet.'
  return status === 'PAID' || status === 'PARTIALLY_REFUNDED'
    ? nothingLeft(left)
    : '409: only a paid payment can be refunded.'
}

function nothingLeft(left: number): string | undefined {
  return left > 0 ? undefined : '400: refunds under way already use up what is left.'
}
