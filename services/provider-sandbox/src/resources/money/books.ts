import type { Charge, CheckoutSession, PaymentIntent, Refund } from '../../state/object-kinds.ts'
import { listObjects } from '../../state/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { sumLedger } from './ledger.ts'

type PaymentBook = {
  paymentIntent: string
  session: string | null
  status: string
  currency: string
  captured: number
  /** What has gone back for good, as far as anyone knows. */
  refunded: number
  /** What is on its way back. */
  pending: number
  kept: number
  metadata: Record<string, string>
}

/** Where all the money is: per payment, per currency, and by the ledger as a second witness. */
export async function readBooks(sandbox: Sandbox) {
  const intentOf = (object: { payment_intent: string | null }) => object.payment_intent
  const charges = Map.groupBy(await listObjects(sandbox.db, 'charge'), intentOf)
  const refunds = Map.groupBy(await listObjects(sandbox.db, 'refund'), intentOf)
  const sessions = Map.groupBy(await listObjects(sandbox.db, 'checkout.session'), intentOf)
  const payments = (await listObjects(sandbox.db, 'payment_intent')).map((intent) =>
    bookOf(intent, {
      charges: charges.get(intent.id) ?? [],
      refunds: refunds.get(intent.id) ?? [],
      session: sessions.get(intent.id)?.[0],
    }),
  )
  return { payments, totals: totalsOf(payments), ledger: await sumLedger(sandbox) }
}

type Movements = { charges: Charge[]; refunds: Refund[]; session: CheckoutSession | undefined }

function bookOf(intent: PaymentIntent, { charges, refunds, session }: Movements): PaymentBook {
  const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
  const refundedAs = (...states: string[]) =>
    sum(refunds.filter(({ status }) => states.includes(status)).map(({ amount }) => amount))
  const captured = sum(charges.map((charge) => charge.amount_captured))
  const refunded = refundedAs('succeeded')
  return {
    paymentIntent: intent.id,
    session: session?.id ?? null,
    status: intent.status,
    currency: intent.currency,
    captured,
    refunded,
    pending: refundedAs('pending', 'requires_action'),
    kept: captured - refunded,
    metadata: { ...session?.metadata, ...intent.metadata },
  }
}

type Totals = { captured: number; refunded: number; pending: number; kept: number }

function totalsOf(payments: PaymentBook[]): Record<string, Totals> {
  const totals: Record<string, Totals> = {}
  for (const { currency, captured, refunded, pending, kept } of payments) {
    const before = totals[currency] ?? { captured: 0, refunded: 0, pending: 0, kept: 0 }
    totals[currency] = {
      captured: before.captured + captured,
      refunded: before.refunded + refunded,
      pending: before.pending + pending,
      kept: before.kept + kept,
    }
  }
  return totals
}

type SessionCount = { open: number; complete: number; expired: number; paid: number }

/** How many sessions there are for each value of a metadata entry, and in which state. */
export async function countSessions(
  sandbox: Sandbox,
  entry: string,
): Promise<Record<string, SessionCount>> {
  const sessions = await listObjects(sandbox.db, 'checkout.session')
  const named = sessions.filter(({ metadata }) => metadata[entry] !== undefined)
  const byValue = Map.groupBy(named, ({ metadata }) => metadata[entry] ?? '')
  return Object.fromEntries([...byValue].map(([value, group]) => [value, countOf(group)]))
}

function countOf(sessions: CheckoutSession[]): SessionCount {
  const having = (test: (session: CheckoutSession) => boolean) => sessions.filter(test).length
  return {
    open: having(({ status }) => status === 'open'),
    complete: having(({ status }) => status === 'complete'),
    expired: having(({ status }) => status === 'expired'),
    paid: having(({ payment_status: paid }) => paid === 'paid'),
  }
}
