import type { Tone } from '../parts/card.tsx'

const GOOD = new Set(['SUCCESS', 'UNCHANGED'])

/** Good is what is known to be: a result this page has never heard of must not look harmless. */
export function toneOf(result: string): Tone {
  return GOOD.has(result) ? 'good' : 'bad'
}
