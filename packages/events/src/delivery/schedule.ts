import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import type { Verdict } from '../database/attempts.repository.ts'
import { MAX_RETRY_AFTER_SECONDS } from '../limits.ts'
import { type Sent, STOPPED } from './send.ts'

/** Seconds before each attempt after the first: 75 hours and 35 minutes in total. */
const PAUSES = [
  5,
  5 * MINUTE_SECONDS,
  30 * MINUTE_SECONDS,
  2 * HOUR_SECONDS,
  5 * HOUR_SECONDS,
  10 * HOUR_SECONDS,
  14 * HOUR_SECONDS,
  20 * HOUR_SECONDS,
  DAY_SECONDS,
]
const JITTER = 0.2
/** `Retry-After` is honoured with these statuses only. */
const MAY_DEFER = [429, 502, 503, 504]

export type Judgement = {
  verdict: Verdict
  /** The reason to disable the endpoint, if it wants no more events. */
  disable?: string
}

/** Decides how a delivery continues after attempt number `count` of the schedule. */
export function judge(sent: Sent, count: number, now: Date): Judgement {
  const { status, error, instruction } = sent
  if (status !== null && status >= 200 && status < 300) return { verdict: 'done' }
  if (error === STOPPED) return { verdict: now }
  if (status === 410) return { verdict: 'failed', disable: 'It answered 410 Gone.' }
  if (instruction === 'disable')
    return { verdict: 'failed', disable: 'It answered "webhook-delivery: disable".' }
  const pause = PAUSES[count - 1]
  if (instruction === 'abort-message' || pause === undefined) return { verdict: 'failed' }
  const spread = pause * (1 + JITTER * (2 * Math.random() - 1))
  return { verdict: secondsAfter(now, Math.max(spread, retryAfterSeconds(sent, now))) }
}

/** `Retry-After` in seconds; 0 if it is missing, invalid or does not apply to the status. */
function retryAfterSeconds({ status, retryAfter = '' }: Sent, now: Date): number {
  if (status === null || !MAY_DEFER.includes(status)) return 0
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : (new Date(retryAfter).getTime() - now.getTime()) / 1000
  return Number.isNaN(seconds) ? 0 : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS)
}
