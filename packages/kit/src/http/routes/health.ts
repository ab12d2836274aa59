import { Problem, storageFull, storageReadOnly } from '../../problems.ts'
import type { Health } from '../framework.ts'

/**
 * Uses the dependencies of the service, writes included. False or a throw means that one of them fails: the service
 * is DOWN, or DEGRADED if what is thrown is `storageFull` or `storageReadOnly`, because it can still read.
 */
export type HealthCheck = () => Promise<boolean | Health>

export const UP: Health = { status: 'UP' }

/** Whether requests should be sent here: a service that can only read does what no other node can do better. */
export function readinessOf(health: Health): Health {
  return health.status === 'DEGRADED' ? UP : health
}

const FRESH_MS = 1_000
const ANSWER_MS = 300
const HUNG_MS = 10_000
const TOO_SLOW: Health = { status: 'DOWN', reason: 'A dependency did not answer in time.' }

/**
 * Checks at most once a second, however often it is called, and answers in time: if a dependency is slow
 * under load, its last known status counts, or up if the service has just started, which required it.
 * A dependency that has not answered for ten seconds is down.
 */
export function healthProbe(check: HealthCheck, { hungMs = HUNG_MS } = {}): () => Promise<Health> {
  let last: { at: number; health: Health } | undefined
  let checking: { since: number; health: Promise<Health> } | undefined

  const checkNow = async (): Promise<Health> => {
    const health = await healthBy(check)
    last = { at: performance.now(), health }
    checking = undefined
    return health
  }

  return async () => {
    if (last && performance.now() - last.at < FRESH_MS) return last.health
    checking ??= { since: performance.now(), health: checkNow() }
    const { since, health } = checking
    const { promise: late, resolve } = Promise.withResolvers<Health>()
    const answerLate = () =>
      resolve(performance.now() - since < hungMs ? (last?.health ?? UP) : TOO_SLOW)
    const timer = setTimeout(answerLate, ANSWER_MS)
    try {
      return await Promise.race([health, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Only the text of a `Problem` becomes the reason, because it is meant for callers: any other may hold secrets. */
async function healthBy(check: HealthCheck): Promise<Health> {
  try {
    const found = await check()
    return typeof found === 'boolean' ? { status: found ? 'UP' : 'DOWN' } : found
  } catch (error) {
    const status = storageFull.is(error) || storageReadOnly.is(error) ? 'DEGRADED' : 'DOWN'
    return { status, ...(error instanceof Problem && { reason: error.message }) }
  }
}

const BY_SEVERITY = ['DOWN', 'DEGRADED', 'UP']

/** Runs all checks, and reports the worst: a full disk must not hide that another dependency is down. */
export function worstOf(...checks: HealthCheck[]): HealthCheck {
  return async () => worst(await Promise.all(checks.map(healthBy)))
}

/** The first of the most severe ones; up if there are none. */
export function worst<H extends Health>(healths: H[]): H | Health {
  const severity = ({ status }: Health) => BY_SEVERITY.indexOf(status)
  return healths.reduce<H | Health>(
    (found, health) => (severity(health) < severity(found) ? health : found),
    UP,
  )
}
