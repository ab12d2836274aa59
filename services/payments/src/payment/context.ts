import { setTimeout } from 'node:timers/promises'
import { type Clock, type Guard, type Logger, withLease } from '@plinth/kit'
import type { PaymentProvider } from '../provider/provider.ts'
import type { Db } from './database/tables.ts'
import { paymentBusy, providerNotConfigured } from './problems.ts'
import type { PaymentStatus } from './state.ts'

/** What a route asks of its caller: nothing as shipped, where the host application does so. */
export type PaymentGuard = {
  read: Guard
  write: Guard
  refund: Guard
  /** Lists, timelines, inbox and audit: everything about everyone. */
  operate: Guard
  /** Changes what an event has done. */
  retry: Guard
}

/** Who asks, for the audit. */
export type Requester = { actor: string; address: string; requestId: string }

export type Payments = {
  db: Db
  clock: Clock
  log: Logger
  /** Absent while no credential is configured. */
  provider: PaymentProvider | undefined
  successUrl: string
  cancelUrl: string
  /** Where other pages may be, which a checkout names. */
  returnOrigins: string[]
  production: boolean
  /** The lock of a dead node on a payment ends after this. */
  leaseSeconds: number
  /** How long a request waits for another that works on the same payment. */
  lockWaitMilliseconds: number
  /** A repetition of a request that is under way shares its answer. */
  singleFlight: SingleFlight
  /** Counts a payment that has come to a status. */
  countStatus: (status: PaymentStatus) => void
  /** Runs the reconciliation now and not at its next turn. */
  wake: () => void
}

/** The same inside a transaction, which `db` is. */
export type Recording = Pick<Payments, 'db' | 'countStatus'>

export function requireProvider(payments: Payments): PaymentProvider {
  if (!payments.provider) throw providerNotConfigured()
  return payments.provider
}

const PAUSE_MILLISECONDS = 25

/**
 * Runs work that talks to the provider about one payment. No two nodes do so at once: the others
 * wait their turn and then find what the first one left.
 */
export async function withPaymentLock<T>(
  payments: Payments,
  id: string,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + payments.lockWaitMilliseconds
  while (performance.now() < deadline) {
    const turn = await tryPaymentLock(payments, id, work)
    if (turn) return turn.result
    await setTimeout(PAUSE_MILLISECONDS * (0.5 + Math.random()))
  }
  throw paymentBusy()
}

/** Like `withPaymentLock`, but leaves a payment alone that is being worked on. */
export async function tryPaymentLock<T>(
  { db, leaseSeconds }: Payments,
  id: string,
  work: () => Promise<T>,
): Promise<{ result: T } | undefined> {
  let turn: { result: T } | undefined
  await withLease(db, `payment:${id}`, leaseSeconds, async () => {
    turn = { result: await work() }
  })
  return turn
}

/** Runs work once for all callers that ask for the same while it is under way. */
type SingleFlight = <T>(key: string, work: () => Promise<T>) => Promise<T>

export function createSingleFlight(): SingleFlight {
  const flights = new Map<string, Promise<unknown>>()
  return <T>(key: string, work: () => Promise<T>) => {
    const underWay = flights.get(key) as Promise<T> | undefined
    if (underWay) return underWay
    const flight = work().finally(() => flights.delete(key))
    flights.set(key, flight)
    return flight
  }
}
