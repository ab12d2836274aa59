type Attempt = {
  reference: string
  state: string
  sessionId: string | null
  expiresAt: string | null
  url: string | null
}

/** Everything the service knows about a payment, and why its status is what it is. */
export type Timeline = {
  explanation: string
  anomalies: string[]
  refundableAmount: number
  attempts: Attempt[]
  refunds: { id: string; amount: number; status: string }[]
  observations: Observation[]
}

export type Observation = {
  at: string
  source: string
  kind: string
  subject?: string | null
  eventId?: string | null
  note?: string | null
  anomaly?: string | null
  statusBefore?: string | null
  statusAfter?: string | null
}

export type Lane = 'us' | 'provider' | 'customer'

// Events that exist because the customer did something on the hosted page.
const CUSTOMER_EVENTS = ['checkout.session.completed', 'payment_intent.payment_failed']

const WORDS: Record<string, string> = {
  'checkout.session.completed': 'The customer finished the hosted page',
  'checkout.session.async_payment_succeeded': 'The bank confirmed the payment',
  'checkout.session.async_payment_failed': 'The bank refused the payment',
  'checkout.session.expired': 'The hosted page expired',
  'payment_intent.payment_failed': 'An attempt on the hosted page was declined',
  'refund.created': 'The refund was accepted',
  'refund.updated': 'The refund moved on',
  'refund.failed': 'The refund failed',
}

export function laneOf({ source, kind }: Observation): Lane {
  if (CUSTOMER_EVENTS.includes(kind)) return 'customer'
  return source === 'request' ? 'us' : 'provider'
}

export function wordsOf({ kind }: Observation): string {
  const words = WORDS[kind] ?? kind.replaceAll(/[._]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** `PENDING → PAID`, or what became of the checkout when the payment stayed as it was. */
export function changeOf({ statusBefore, statusAfter }: Observation): string | undefined {
  const [paidBefore, checkoutBefore] = statusBefore?.split('/') ?? []
  const [paidAfter, checkoutAfter] = statusAfter?.split('/') ?? []
  if (paidAfter && paidAfter !== paidBefore) return `${paidBefore ?? 'new'} → ${paidAfter}`
  if (checkoutAfter && checkoutAfter !== checkoutBefore) return `checkout ${checkoutAfter}`
  return undefined
}
