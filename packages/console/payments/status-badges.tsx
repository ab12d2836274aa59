import type { Payment } from '@plinth/client'
import { Badge, type Tone } from '../family/parts/card.tsx'

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
