import { createHash } from 'node:crypto'
import { failPoint, HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { afterLostTry, certaintyOf } from './failures.ts'
import { missingIsInconsistent, mustExist } from './problems.ts'

/**
 * Reserve, call, observe. Anything to be created at the provider is first reserved: stored with its
 * idempotency key, and committed. Then the provider is called, with no transaction open, and the caller
 * records the outcome. The outcome of a call without a clear answer is looked up, never guessed.
 */
export type Creation<R extends Reservation, T> = {
  name: 'checkout' | 'refund'
  create(reserved: R): Promise<T>
  /** Searches for an object that an earlier call may have created. */
  search(reserved: R): Promise<T | undefined>
  /** Whether to search before resending; otherwise only when the reply is inconclusive. */
  searchesFirst: boolean
}

type Reservation = { idempotencyKey: string; firstSentAt: string }

/** If nothing was created, the reservation is to be withdrawn. A spent key would only replay its refusal. */
export type Outcome<T> =
  | { kind: 'made' | 'found'; object: T }
  | { kind: 'nothing'; key: 'spent' | 'unused'; error?: unknown }

const NOTHING = { kind: 'nothing', key: 'spent' } as const

/** The provider forgets a key after a day; beyond this age only a look-up shows what happened. */
const KEY_LIFETIME_SECONDS = 23 * HOUR_SECONDS

/** Fails when the outcome is unknown. */
export async function sendReserved<R extends Reservation, T>(
  creation: Creation<R, T>,
  reserved: R,
): Promise<Outcome<T>> {
  try {
    return await send(creation, reserved)
  } catch (error) {
    const { keyConflict, didNothing, isFinal } = certaintyOf(error)
    const found = keyConflict && (await mustExist(creation.search(reserved)))
    if (found) return { kind: 'found', object: found }
    if (!didNothing) throw error
    return { kind: 'nothing', key: isFinal ? 'spent' : 'unused', error }
  }
}

/**
 * Resolves a reservation with an unknown outcome: by resending it under the same key, which returns
 * the same object, or by a search. A key that the provider may have forgotten is never resent.
 */
export async function resolveReserved<R extends Reservation, T>(
  creation: Creation<R, T>,
  reserved: R,
  now: Date,
): Promise<Outcome<T>> {
  const isForgotten = now >= secondsAfter(new Date(reserved.firstSentAt), KEY_LIFETIME_SECONDS)
  if (creation.searchesFirst || isForgotten) {
    const found = await creation.search(reserved).catch((error) => {
      // While the key is fresh, resending is safe without a search.
      if (isForgotten || !certaintyOf(error).isFinal) throw missingIsInconsistent(error)
    })
    if (found) return { kind: 'found', object: found }
  }
  return isForgotten ? NOTHING : sendAgain(creation, reserved)
}

/** Nothing was created when the first request under the key has finished and a search finds no object. */
async function sendAgain<R extends Reservation, T>(
  creation: Creation<R, T>,
  reserved: R,
): Promise<Outcome<T>> {
  try {
    return await send(creation, reserved)
  } catch (refusal) {
    const error = afterLostTry(refusal)
    const { isFinal, isReplay, keyConflict } = certaintyOf(error)
    if (isFinal && !keyConflict) return NOTHING
    const isOver = isReplay || keyConflict
    if (creation.searchesFirst && !isOver) throw error
    const found = await creation.search(reserved).catch((reason) => {
      throw keyConflict ? missingIsInconsistent(reason) : error
    })
    if (found) return { kind: 'found', object: found }
    if (!isOver) throw error
    return NOTHING
  }
}

async function send<R extends Reservation, T>(
  { name, create }: Creation<R, T>,
  reserved: R,
): Promise<Outcome<T>> {
  failPoint(`${name}:reserved`)
  const object = await create(reserved)
  failPoint(`${name}:after-provider-call`)
  return { kind: 'made', object }
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
