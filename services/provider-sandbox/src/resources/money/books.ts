import { inTransaction } from '@plinth/kit/database'
import type { CheckoutSession } from '../../state/objects/kinds.ts'
import type { PaymentIntent, Refund } from '../../state/objects/money.ts'
import { listObjects } from '../../state/objects/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { sumLedger } from './ledger.ts'

/**
 * Where the money is: per payment, per currency, and by the ledger as a cross-check. All of it is read in one
 * transaction: between two reads a payment could be captured, and the books would not balance.
 */
export function readBooks(sandbox: Sandbox) {
  return inTransaction(sandbox.db, (db) => booksOf({ ...sandbox, db }))
}

async function booksOf(sandbox: Sandbox) {
  const intentOf = (object: { payment_intent: string | null }) => object.payment_intent
  const charges = Map.groupBy(await listObjects(sandbox.db, 'charge'), intentOf)
  const refunds = Map.groupBy(await listObjects(sandbox.db, 'refund'), intentOf)
  const sessions = Map.groupBy(await listObjects(sandbox.db, 'checkout.session'), intentOf)
  const intents = await listObjects(sandbox.db, 'payment_intent')
  const payments = intents.map((intent) => {
    const captured = sum((charges.get(intent.id) ?? []).map((charge) => charge.amount_captured))
    return bookOf(intent, sessions.get(intent.id)?.[0], captured, refunds.get(intent.id) ?? [])
  })
  return { payments, totals: totalsOf(payments), ledger: await sumLedger(sandbox) }
}

type Totals = {
  captured: number
  /** What has been refunded; a refund may still fail later. */
  refunded: number
  /** Refunds in progress. */
  pending: number
  kept: number
}

type PaymentBook = Totals & {
  paymentIntent: string
  session: string | null
  status: string
  currency: string
  metadata: Record<string, string>
}

function bookOf(
  { id, status, currency, metadata }: PaymentIntent,
  session: CheckoutSession | undefined,
  captured: number,
  refunds: Refund[],
): PaymentBook {
  const amountOf = (...states: Refund['status'][]) =>
    sum(refunds.filter((refund) => states.includes(refund.status)).map(({ amount }) => amount))
  const refunded = amountOf('succeeded')
  return {
    paymentIntent: id,
    session: session?.id ?? null,
    status,
    currency,
    captured,
    refunded,
    pending: amountOf('pending', 'requires_action'),
    kept: captured - refunded,
    metadata: { ...session?.metadata, ...metadata },
  }
}

function totalsOf(payments: PaymentBook[]): Record<string, Totals> {
  const totals: Record<string, Totals> = {}
  for (const { currency, ...payment } of payments) {
    totals[currency] ??= { captured: 0, refunded: 0, pending: 0, kept: 0 }
    const total = totals[currency]
    for (const name of ['captured', 'refunded', 'pending', 'kept'] as const)
      total[name] += payment[name]
  }
  return totals
}

const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)

/** How many sessions there are for each value of a metadata entry, and in which state. */
export async function countSessions(sandbox: Sandbox, entry: string) {
  const sessions = await listObjects(sandbox.db, 'checkout.session')
  const named = sessions.filter(({ metadata }) => Object.hasOwn(metadata, entry))
  const byValue = Map.groupBy(named, ({ metadata }) => metadata[entry] ?? '')
  return Object.fromEntries([...byValue].map(([value, group]) => [value, countOf(group)]))
}

function countOf(sessions: CheckoutSession[]) {
  const count = (state: string) =>
    sessions.filter((session) => session.status === state || session.payment_status === state)
      .length
  return {
    open: count('open'),
    complete: count('complete'),
    expired: count('expired'),
    paid: count('paid'),
  }
}
