import { type EventCatalogue, KEY_EVENTS } from '@plinth/events'
import { oneOf, orNull, Type } from '@plinth/kit/http'
import { PAYMENT_STATUSES } from './state.ts'

export const SOURCE = 'payments'

const amount = Type.Integer({ minimum: 0, examples: [1000], description: 'Minor unit' })
const currency = Type.String({ examples: ['eur'] })
const uuid = Type.String({ format: 'uuid' })

const PaymentData = Type.Object(
  {
    paymentId: uuid,
    businessReference: Type.String({ examples: ['order-17'] }),
    status: oneOf(...PAYMENT_STATUSES),
    checkoutStatus: orNull(oneOf('OPEN', 'COMPLETE', 'EXPIRED')),
    amount,
    refundedAmount: Type.Integer({ ...amount, examples: [0] }),
    currency,
  },
  { title: 'PaymentEventData' },
)

const RefundData = Type.Object(
  {
    refundId: Type.String({ examples: ['re_A1b2C3'] }),
    paymentId: orNull(uuid),
    amount,
    currency,
    status: Type.String({ examples: ['succeeded'] }),
  },
  { title: 'RefundEventData' },
)

/** The events that this service publishes. */
export const PAYMENT_EVENTS: EventCatalogue = {
  'payment.created': {
    description: 'A payment has its first checkout.',
    data: PaymentData,
    sample: { status: 'PENDING', checkoutStatus: 'OPEN' },
  },
  'payment.paid': {
    description: 'The payment was paid.',
    data: PaymentData,
    sample: { status: 'PAID', checkoutStatus: 'COMPLETE' },
  },
  'payment.failed': {
    description: 'The payment was refused.',
    data: PaymentData,
    sample: { status: 'FAILED', checkoutStatus: 'COMPLETE' },
  },
  'payment.expired': {
    description: 'A checkout expired unpaid.',
    data: PaymentData,
    sample: { status: 'PENDING', checkoutStatus: 'EXPIRED' },
  },
  'refund.succeeded': {
    description: 'Money was refunded.',
    data: RefundData,
    sample: { status: 'succeeded' },
  },
  'refund.failed': {
    description: 'A refund failed or was cancelled.',
    data: RefundData,
    sample: { status: 'failed' },
  },
  ...KEY_EVENTS,
}
