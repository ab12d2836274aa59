import { createHash } from 'node:crypto'
import { type Clock, failPoint, secondsAfter } from '@plinth/kit'
import { certaintyOf } from './failures.ts'
import { missingIsInconsistent, mustExist } from './problems.ts'

/**
 * Commit, call, record. What is made at the provider is first reserved: written down with its
 * idempotency key, and committed. Then the provider is called, with no transaction open, and its
 * reply is recorded. What became of a call without a clear answer is found out, never guessed.
 */
export type Operation<R extends Reservation, T> = {
  name: 'checkout' | 'refund'
  clock: Clock
  create(reserved: R): Promise<T>
  record(reserved: R, made: T): Promise<void>
  /** Looks for what an earlier call may have made, and records it. */
  search(reserved: R): Promise<T | undefined>
  /** Whether to search before sending again; otherwise only when the reply leaves a doubt. */
  searchesFirst: boolean
  /** Takes back a reservation of which nothing came. A spent key would only repeat its refusal. */
  withdraw(reserved: R, key: 'spent' | 'unused'): Promise<void>
  /** Whose fault a failed call is. */
  attributeFailure(error: unknown, reserved: R): unknown
}

export type Reservation = { idempotencyKey: string; firstSentAt: string }

/** The provider forgets a key after a day; from here on only a look-up shows what happened. */
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
 * Finds out what became of a reservation whose outcome is unknown: by sending it again under the
 * same key, which gives the same object, or by a search. A key that the provider may have forgotten
 * is never sent again. Undefined when nothing came of it, and it is withdrawn.
 */
export async function resolveReserved<R extends Reservation, T>(
  operation: Operation<R, T>,
  reserved: R,
): Promise<T | undefined> {
  const isForgotten =
    operation.clock() >= secondsAfter(new Date(reserved.firstSentAt), KEY_LIFETIME_SECONDS)
  if (operation.searchesFirst || isForgotten) {
    const found = await operation.search(reserved).catch((error) => {
      // While the key is fresh, sending again is safe without a look.
      if (isForgotten || !certaintyOf(error).isFinal) throw missingIsInconsistent(error)
    })
    if (found) return found
  }
  const made = isForgotten ? undefined : await sendAgain(operation, reserved)
  if (!made) await operation.withdraw(reserved, 'spent')
  return made
}

/** Undefined when the first request under the key is over, and nothing came of it. */
async function sendAgain<R extends Reservation, T>(
  operation: Operation<R, T>,
  reserved: R,
): Promise<T | undefined> {
  try {
    return await callAndRecord(operation, reserved)
  } catch (error) {
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
 * References may hold any characters, a key may not: the key carries their hash. `generation` grows
 * only when the key before it is known to have produced nothing.
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
