import type { HeldCalls } from '../api/faults/held-calls.ts'
import type { Deliverer } from '../resources/webhooks/deliverer.ts'
import type { MovableClock } from '../state/clock.ts'
import type { Sandbox } from '../state/sandbox.ts'

/** Everything the controls can turn. */
export type Controls = {
  sandbox: Sandbox
  clock: MovableClock
  deliverer: Deliverer
  held: HeldCalls
}
