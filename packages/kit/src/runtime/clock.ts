/** The time is passed, never asked for: this file is the only one that reads the machine's clock. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

export function secondsAfter(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1000)
}
