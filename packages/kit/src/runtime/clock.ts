/** Code takes a `Clock` instead of reading the time: only this file reads the system clock. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

export const MINUTE_SECONDS = 60
export const HOUR_SECONDS = 60 * MINUTE_SECONDS
export const DAY_SECONDS = 24 * HOUR_SECONDS
export const HOUR_MS = 1000 * HOUR_SECONDS
export const DAY_MS = 24 * HOUR_MS

/** How far the clocks of nodes may differ. */
export const MAX_CLOCK_SKEW_SECONDS = 60

export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1000)
}

/**
 * Whether an end that was set at most `seconds` ahead is still to come. An end further ahead means that
 * the clock was set back: then it has passed, instead of lasting until the clock has caught up.
 */
export function isAhead(end: Date, seconds: number, now: Date): boolean {
  return now < end && end <= secondsAfter(now, seconds)
}

/** Whether less than `seconds` have passed since `start`. Not if the clock was set back to a time before it. */
export function isRecent(start: Date, seconds: number, now: Date): boolean {
  return isAhead(secondsAfter(start, seconds), seconds, now)
}
