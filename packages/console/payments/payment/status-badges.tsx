import type { Payment } from '@plinth/client'
import { Badge } from '../../shared/components/page.tsx'
import type { Tone } from '../../shared/components/tone.ts'

const TONES: Record<Payment['status'], Tone> = {
  PENDING: 'warn',
  PAID: 'good',
  FAILED: 'bad',
  PARTIALLY_REFUNDED: 'accent',
  REFUNDED: 'accent',
}

export function PaymentBadge({ payment }: { payment: Payment }) {
  return <Badge tone={TONES[payment.status]}>{payment.status.replaceAll('_', ' ')}</Badge>
}

export function CheckoutBadge({ payment }: { payment: Payment }) {
  if (!payment.checkoutStatus) return <Badge>no checkout</Badge>
  return <Badge>{`checkout ${payment.checkoutStatus}`}</Badge>
}
