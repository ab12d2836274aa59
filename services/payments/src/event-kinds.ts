const SESSION_EVENTS = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
]
const REFUND_EVENTS = ['refund.created', 'refund.updated', 'refund.failed']
/** These move no money by themselves; they are a reason to ask the provider again. */
const HINT_EVENTS = [
  'charge.refunded',
  'payment_intent.succeeded',
  'payment_intent.processing',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
]

type EventKind = 'session' | 'refund' | 'hint' | 'other'

export function eventKindOf(type: string): EventKind {
  if (SESSION_EVENTS.includes(type)) return 'session'
  if (REFUND_EVENTS.includes(type)) return 'refund'
  return type === 'charge.refunded' || type.startsWith('payment_intent.') ? 'hint' : 'other'
}

/** What to ask for when the provider's list of events is read. */
export const POLLED_EVENTS = [...SESSION_EVENTS, ...REFUND_EVENTS, ...HINT_EVENTS]
