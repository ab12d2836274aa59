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

/** Back to the machine's time. What happened on the way stays; what is due later waits for it. */
export async function resetClock(controls: Controls) {
  await controls.clock.reset()
  return readClock(controls)
}
