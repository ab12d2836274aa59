/** Code takes a `Clock` instead of reading the time: only this file reads the system clock. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1000)
}
