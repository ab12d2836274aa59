import { moveClock } from '../time/due.ts'
import type { Controls } from './controls.ts'

export function readClock({ clock }: Controls) {
  return { now: clock().toISOString(), offsetSeconds: clock.offsetSeconds() }
}

/** Ends when everything that became due on the way has been done and sent. */
export async function advanceClock(controls: Controls, seconds: number) {
  const { sandbox, clock, deliverer } = controls
  await moveClock(sandbox, clock, seconds, deliverer.flush)
  return readClock(controls)
}
