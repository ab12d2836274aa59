import { setTimeout } from 'node:timers/promises'
import { withLease } from '@plinth/kit/database'
import type { Guard } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import type { Clock } from '@plinth/kit/runtime'
import type { PaymentProvider, ProviderCalls } from '../provider/provider.ts'
import type { Db } from './database/tables.ts'
import { paymentBusy, providerNotConfigured } from './problems.ts'
import type { PaymentStatus } from './state.ts'

/** What a route requires of its caller. With open access the host application checks callers instead. */
export type PaymentGuard = {
  read: Guard
  write: Guard
  refund: Guard
  /** Lists, timelines, inbox and audit: the data of all customers. */
  operate: Guard
  /** Retries of events and checks of payments. */
  retry: Guard
}

/** Who made the request, for the audit. */
export type Requester = { actor: string; address: string; requestId: string }

export type Payments = {
  db: Db
  clock: Clock
  log: Logger
  provider: PaymentProvider
  successUrl: string
  cancelUrl: string
  /** Origins that a checkout's own return pages may have. */
  returnOrigins: string[]
  production: boolean
  /** A dead node's lock on a payment expires after this. */
  leaseSeconds: number
  /** How long a request waits for another one that is working on the same payment. */
  lockWaitMilliseconds: number
  /** After this, events lose their body. */
  eventRetentionDays: number
  /** Identical requests in flight share one result. */
  singleFlight: SingleFlight
  /** Counts a payment that has reached a status. */
  countStatus: (status: PaymentStatus) => void
}

/** What recording an observation needs; `db` is the open transaction. */
export type Recording = Pick<Payments, 'db' | 'countStatus'>

/** The calls to the provider; 503 while no credential is configured. */
export function requireProvider({ provider }: Payments): ProviderCalls {
  if (!provider.calls) throw providerNotConfigured()
  return provider.calls
}

const PAUSE_MILLISECONDS = 25

/**
 * Runs work that talks to the provider about one payment. Only one node does so at a time: the
 * others wait for the lock and then see what the first one stored.
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

/** Like `withPaymentLock`, but skips a payment that is locked. */
export function tryPaymentLock<T>(
  { db, leaseSeconds }: Payments,
  id: string,
  work: () => Promise<T>,
): Promise<{ result: T } | undefined> {
  return withLease(db, `payment:${id}`, leaseSeconds, work)
}

/** Concurrent calls with the same key share one run of the work. */
type SingleFlight = <T>(key: string, work: () => Promise<T>) => Promise<T>

export function createSingleFlight(): SingleFlight {
  const flights = new Map<string, Promise<unknown>>()
  return <T>(key: string, work: () => Promise<T>) => {
    const inFlight = flights.get(key) as Promise<T> | undefined
    if (inFlight) return inFlight
    const flight = work().finally(() => flights.delete(key))
    flights.set(key, flight)
    return flight
  }
}
