import type { Clock } from '@plinth/kit/runtime'
import type { SandboxDb } from './tables.ts'
import { findValue, updateValue } from './values.repository.ts'

/** The name of the value that keeps the offset. */
export const CLOCK_OFFSET = 'clock-offset-ms'

/** The machine's time plus an offset that is kept across restarts. */
export type MovableClock = Clock & {
  offsetSeconds(): number
  /** Never moves back. */
  moveTo(moment: Date): Promise<void>
  reset(): Promise<void>
  /** Reads the stored offset. */
  load(): Promise<void>
}

export function movableClock(base: Clock, db: SandboxDb): MovableClock {
  let offsetMs = 0
  const now = () => new Date(base().getTime() + offsetMs)
  const store = async (milliseconds: number) => {
    offsetMs = milliseconds
    await updateValue(db, CLOCK_OFFSET, milliseconds)
  }
  return Object.assign(now, {
    offsetSeconds: () => offsetMs / 1000,
    moveTo: (moment: Date) => store(Math.max(offsetMs, moment.getTime() - base().getTime())),
    reset: () => store(0),
    load: async () => {
      offsetMs = (await findValue<number>(db, CLOCK_OFFSET)) ?? 0
    },
  })
}
