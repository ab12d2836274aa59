import type { Clock } from '../src/runtime/clock.ts'

export type TestClock = Clock & { advance(seconds: number): void; set(date: Date): void }

/** A clock that stands still until the test moves it. */
export function testClock(start = '2030-01-01T00:00:00.000Z'): TestClock {
  let now = new Date(start).getTime()
  return Object.assign(() => new Date(now), {
    advance: (seconds: number) => {
      now += seconds * 1000
    },
    set: (date: Date) => {
      now = date.getTime()
    },
  })
}
