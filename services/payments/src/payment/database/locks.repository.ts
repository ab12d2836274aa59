import { engineOf } from '@plinth/kit'
import { sql } from 'kysely'
import type { PaymentDb } from './tables.ts'

const INTENTS = 0

const REFERENCES = 1

const SESSIONS = 2

const REFUNDS = 3

/**
 * Held until the transaction ends. A refund may be seen before anybody knows whose intent it is
 * for: without this, it and the session that names the intent could miss each other. SQLite has
 * one writer at a time.
 */
export async function lockIntent(db: PaymentDb, paymentIntentId: string | null): Promise<void> {
  if (paymentIntentId !== null) await lockName(db, INTENTS, paymentIntentId)
}

/** Likewise a payment and an event that is parked for it while it is being inserted. */
export async function lockReference(db: PaymentDb, reference: string): Promise<void> {
  await lockName(db, REFERENCES, reference)
}

/** Likewise two payments for which the provider names the same session. */
export async function lockSession(db: PaymentDb, sessionId: string): Promise<void> {
  await lockName(db, SESSIONS, sessionId)
}

/** Likewise two payments for which the provider names the same refund. */
export async function lockRefund(db: PaymentDb, refundId: string): Promise<void> {
  await lockName(db, REFUNDS, refundId)
}

async function lockName(db: PaymentDb, space: number, name: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, ${space}))`.execute(db)
}
