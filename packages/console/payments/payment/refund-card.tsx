import type { Payment, Refund, Timeline } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Id } from '../../shared/components/code.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Badge, Card } from '../../shared/components/page.tsx'
import { Refusal, Success } from '../../shared/components/reply.tsx'
import { Table } from '../../shared/components/table.tsx'
import type { Tone } from '../../shared/components/tone.ts'
import { minorUnitsOf, moneyText, shortId, typedAmount } from '../../shared/wording.ts'
import { api, newReference } from '../api.ts'

type RefundProps = { payment: Payment; timeline?: Timeline; onChange(): void }

export function RefundCard({ payment, timeline, onChange }: RefundProps) {
  const reference = useSignal(newReference('refund'))
  const refund = useAction(
    async ({ amount, ...values }: Values) => {
      const minorUnits = amount && minorUnitsOf(amount, payment.currency)
      if (minorUnits === undefined && amount) return undefined
      const body = amount ? { ...values, amount: minorUnits } : values
      return api.post('/api/payments/{id}/refund', { path: { id: payment.id }, json: body })
    },
    (reply) => {
      if (reply?.ok) {
        reference.value = newReference('refund')
        typed.value = ''
      }
      onChange()
    },
  )
  const typed = useSignal('')
  const unreadable = typed.value !== '' && minorUnitsOf(typed.value, payment.currency) === undefined
  const left = timeline?.refundableAmount ?? payment.amount - payment.refundedAmount
  const blocked = refundBlocked(payment, left)
  const about = blocked
    ? 'A paid amount can be refunded at once or in parts.'
    : `Up to ${moneyText(left, payment.currency)} can be refunded.`
  return (
    <Card title="Refund" about={about}>
      {blocked ? (
        <div class="row">
          <Button blocked={blocked}>Refund</Button>
          <span class="soft">{blocked}</span>
        </div>
      ) : (
        <Form
          label="Refund"
          fields={[
            {
              label: `Amount in ${payment.currency.toUpperCase()}`,
              name: 'amount',
              optional: true,
              bind: typed,
              inputMode: 'decimal',
              hint: `Leave blank to refund the rest: ${typedAmount(left, payment.currency)}.`,
              fault: unreadable
                ? `Enter an amount such as ${typedAmount(left, payment.currency)}.`
                : undefined,
            },
            { label: 'Reason', name: 'reason', options: REASONS, optional: true },
            {
              label: 'Reference',
              name: 'reference',
              value: reference.value,
              hint: 'The same reference refunds only once.',
            },
          ]}
          action={refund}
          send="Refund"
          kind="primary"
          question={unreadable ? undefined : questionOf(typed.value, payment, left)}
          round={reference.value}
        />
      )}
      {blocked && <Refusal reply={refund.refusal} />}
      {refund.reply?.ok && <Refunded refund={refund.reply.body} />}
      <RefundList payment={payment} timeline={timeline} />
    </Card>
  )
}

/** Asks about the typed amount, or else everything that is left. */
function questionOf(typed: string, { currency }: Payment, left: number): string {
  const amount = typed === '' ? left : (minorUnitsOf(typed, currency) ?? left)
  return `Send ${moneyText(amount, currency)} back? This cannot be undone.`
}

function Refunded({ refund }: { refund: Refund }) {
  return (
    <Success>
      Refund <code title={refund.id}>{shortId(refund.id)}</code> of{' '}
      {moneyText(refund.amount, refund.currency)}: <strong>{refund.status}</strong>.
    </Success>
  )
}

function refundBlocked(payment: Payment, left: number): string | undefined {
  const { status, providerPaymentIntentId } = payment
  if (status === 'REFUNDED') return 'Everything has been refunded.'
  if (!providerPaymentIntentId) return 'Nothing has been paid yet.'
  return status === 'PAID' || status === 'PARTIALLY_REFUNDED'
    ? nothingLeft(left)
    : 'Only a paid payment can be refunded.'
}

function nothingLeft(left: number): string | undefined {
  return left > 0 ? undefined : 'Pending refunds already use up what is left.'
}

const REASONS = [
  { value: '', label: 'Not given' },
  { value: 'REQUESTED_BY_CUSTOMER', label: 'Requested by the customer' },
  { value: 'DUPLICATE', label: 'Duplicate' },
  { value: 'FRAUDULENT', label: 'Fraudulent' },
]

const REFUND_TONES: Record<string, Tone> = { succeeded: 'good', pending: 'warn', failed: 'bad' }

function RefundList({ payment, timeline }: { payment: Payment; timeline?: Timeline }) {
  if (!timeline || timeline.refunds.length === 0) return null
  return (
    <Table
      caption="Refunds of this payment"
      rows={timeline.refunds}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Refund', of: ({ id }) => <Id of={id} /> },
        { title: 'Amount', of: ({ amount }) => moneyText(amount, payment.currency), number: true },
        {
          title: 'Status',
          of: ({ status }) => <Badge tone={REFUND_TONES[status]}>{status}</Badge>,
        },
      ]}
    />
  )
}
