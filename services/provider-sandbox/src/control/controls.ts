import type { HeldCalls } from '../faults/held-calls.ts'
import type { Sandbox } from '../sandbox.ts'
import type { MovableClock } from '../time/sandbox-clock.ts'
import type { Deliverer } from '../webhooks/deliverer.ts'

/** Everything the controls can turn. */
export type Controls = {
  sandbox: Sandbox
  clock: MovableClock
  deliverer: Deliverer
  held: HeldCalls
}
