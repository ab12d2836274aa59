import { createHash } from 'node:crypto'
import { type Clock, failPoint, secondsAfter } from '@plinth/kit/runtime'
import { afterLostTry, certaintyOf } from './failures.ts'
import { missingIsInconsistent, mustExist } from './problems.ts'

/**
 * Commit, call, record. Anything to be created at the provider is first reserved: stored with its
 * idempotency key, and committed. Then the provider is called, with no transaction open, and its
 * reply is recorded. The outcome of a call without a clear answer is looked up, never guessed.
 */
export type Operation<R extends Reservation, T> = {
  name: 'checkout' | 'refund'
  clock: Clock
  create(reserved: R): Promise<T>
  record(reserved: R, made: T): Promise<void>
  /** Searches for an object that an earlier call may have created, and records it. */
  search(reserved: R): Promise<T | undefined>
  /** Whether to search before resending; otherwise only when the reply is inconclusive. */
  searchesFirst: boolean
  /** Withdraws a reservation that created nothing. A spent key would only replay its refusal. */
  withdraw(reserved: R, key: 'spent' | 'unused'): Promise<void>
  /** Turns the failure of a call into the problem of whoever is at fault. */
  attributeFailure(error: unknown, reserved: R): unknown
}

export type Reservation = { idempotencyKey: string; firstSentAt: string }

/** The provider forgets a key after a day; beyond this age only a look-up shows what happened. */
const KEY_LIFETIME_SECONDS = 23 * 3600

export async function sendReserved<R extends Reservation, T>(
  operation: Operation<R, T>,
  reserved: R,
): Promise<T> {
  try {
    return await callAndRecord(operation, reserved)
  } catch (error) {
    const { keyConflict, didNothing, isFinal } = certaintyOf(error)
    const found = keyConflict && (await mustExist(operation.search(reserved)))
    if (found) return found
    if (didNothing) await operation.withdraw(reserved, isFinal ? 'spent' : 'unused')
    throw operation.attributeFailure(error, reserved)
  }
}

/**
 * Resolves a reservation with an unknown outcome: by resending it under the same key, which returns
 * the same object, or by a search. A key that the provider may have forgotten is never resent.
 * Undefined when nothing was created; the reservation is then withdrawn.
 */
export async function resolveReserved<R extends Reservation, T>(
  operation: Operation<R, T>,
  reserved: R,
): Promise<T | undefined> {
  const isForgotten =
    operation.clock() >= secondsAfter(new Date(reserved.firstSentAt), KEY_LIFETIME_SECONDS)
  if (operation.searchesFirst || isForgotten) {
    const found = await operation.search(reserved).catch((error) => {
      // While the key is fresh, resending is safe without a search.
      if (isForgotten || !certaintyOf(error).isFinal) throw missingIsInconsistent(error)
    })
    if (found) return found
  }
  const made = isForgotten ? undefined : await sendAgain(operation, reserved)
  if (!made) await operation.withdraw(reserved, 'spent')
  return made
}

/** Undefined when the first request under the key has finished and created nothing. */
async function sendAgain<R extends Reservation, T>(
  operation: Operation<R, T>,
  reserved: R,
): Promise<T | undefined> {
  try {
    return await callAndRecord(operation, reserved)
  } catch (refusal) {
    const error = afterLostTry(refusal)
    const { isFinal, isReplay, keyConflict } = certaintyOf(error)
    if (isFinal && !keyConflict) return undefined
    const isOver = isReplay || keyConflict
    if (operation.searchesFirst && !isOver) throw error
    const found = await operation.search(reserved).catch((reason) => {
      throw keyConflict ? missingIsInconsistent(reason) : error
    })
    if (!found && !isOver) throw error
    return found
  }
}

async function callAndRecord<R extends Reservation, T>(
  { name, create, record }: Operation<R, T>,
  reserved: R,
): Promise<T> {
  failPoint(`${name}:reserved`)
  const made = await create(reserved)
  failPoint(`${name}:after-provider-call`)
  await record(reserved, made)
  failPoint(`${name}:recorded`)
  return made
}

/**
 * A reference may contain any character but a key may not, so the key contains the reference's hash.
 * `generation` grows only when the previous key is known to have created nothing.
 */
export function idempotencyKey(
  kind: 'co1' | 're1',
  paymentId: string,
  reference: string,
  generation: number,
): string {
  const key = `${kind}:${paymentId}:${hashOf(reference)}`
  return generation === 0 ? key : `${key}:${generation}`
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
