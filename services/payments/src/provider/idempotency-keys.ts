import { createHash } from 'node:crypto'

/**
 * References may hold any characters, a key may not: the key carries their hash. `generation` grows
 * only when the key before it is known to have produced nothing.
 */
export function checkoutKey(paymentId: string, reference: string, generation: number): string {
  return keyOf('co1', paymentId, reference, generation)
}

export function refundKey(paymentId: string, reference: string, generation: number): string {
  return keyOf('re1', paymentId, reference, generation)
}

function keyOf(kind: string, paymentId: string, reference: string, generation: number): string {
  const key = `${kind}:${paymentId}:${hashOf(reference)}`
  return generation === 0 ? key : `${key}:${generation}`
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** The provider forgets a key after a day; from here on only a look-up tells what happened. */
export const KEY_LIFETIME_SECONDS = 23 * 3600
