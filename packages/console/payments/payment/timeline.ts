import type { Timeline } from '@plinth/client'
import { moneyText, withShortIds } from '../../shared/wording.ts'

export type Observation = Timeline['observations'][number]

/** Rewrites `PARTIALLY_REFUNDED because … 1000 of 4900 eur went back` the way people write it. */
export function explained({ explanation }: Timeline): string {
  return withShortIds(explanation)
    .replace(/^[A-Z_]+/, (status) => status.replaceAll('_', ' '))
    .replace(PART, partText)
}

const PART = /\b(\d+) of (\d+) ([a-z]{3})\b/
const AMOUNT = /\b(\d+) ([a-z]{3})\b/g

function partText(_all: string, part: string, whole: string, currency: string): string {
  return [part, whole].map((amount) => moneyText(Number(amount), currency)).join(' of ')
}

/** The note of an observation, with `1000 eur` the way people write it. */
export function noteOf({ note }: Observation, currency: string): string | null {
  return (
    note &&
    note
      .replace(PART, partText)
      .replaceAll(AMOUNT, (all, amount, code) =>
        code === currency ? moneyText(Number(amount), code) : all,
      )
  )
}

export type Lane = 'us' | 'provider' | 'customer'

// Events that exist because the customer did something on the hosted page.
const CUSTOMER_EVENTS = ['checkout.session.completed', 'payment_intent.payment_failed']

const WORDS: Record<string, string> = {
  'checkout.session.completed': 'The customer finished the hosted page',
  'checkout.session.async_payment_succeeded': 'The bank confirmed the payment',
  'checkout.session.async_payment_failed': 'The bank refused the payment',
  'checkout.session.expired': 'The hosted page expired',
  'payment_intent.payment_failed': 'An attempt on the hosted page was declined',
  'refund.created': 'The refund was accepted',
  'refund.updated': 'The refund was updated',
  'refund.failed': 'The refund failed',
}

export function laneOf({ source, kind }: Observation): Lane {
  if (CUSTOMER_EVENTS.includes(kind)) return 'customer'
  return source === 'request' ? 'us' : 'provider'
}

export function wordsOf({ kind }: Observation): string {
  const words = WORDS[kind] ?? kind.replaceAll(/[._]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export type Fold = Observation & { repeats: Observation[] }

/** Folds observations that repeat the previous one and changed nothing into it. */
export function folded(observations: Observation[]): Fold[] {
  const folds: Fold[] = []
  for (const observation of observations) {
    const last = folds.at(-1)
    if (last && isRepeat(last, observation)) last.repeats.push(observation)
    else folds.push({ ...observation, repeats: [] })
  }
  return folds
}

function isRepeat(first: Observation, next: Observation): boolean {
  const isSame = (['source', 'kind', 'subject', 'note'] as const).every(
    (name) => first[name] === next[name],
  )
  return isSame && !next.anomaly && !first.anomaly && changeOf(next) === undefined
}

/** `PENDING → PAID`, or the new state of the checkout if only that changed. */
export function changeOf({ statusBefore, statusAfter }: Observation): string | undefined {
  const [paidBefore, checkoutBefore] = statusBefore?.split('/') ?? []
  const [paidAfter, checkoutAfter] = statusAfter?.split('/') ?? []
  if (paidAfter && paidAfter !== paidBefore) return `${paidBefore ?? 'new'} → ${paidAfter}`
  if (checkoutAfter && checkoutAfter !== checkoutBefore) return `checkout ${checkoutAfter}`
  return undefined
}
