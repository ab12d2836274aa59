import { notFound } from '@plinth/kit/problems'
import type { Fault, FaultKind } from '../api/faults/fault.ts'
import {
  deleteFault,
  deleteFaults,
  insertFault,
  listFaults,
} from '../api/faults/faults.repository.ts'
import type { HeldCalls } from '../api/faults/held-calls.ts'
import { deleteKeys } from '../api/idempotency.repository.ts'
import { listRequests } from '../api/requests.repository.ts'
import { moveClock } from '../resources/timers.ts'
import type { Deliverer } from '../resources/webhooks/deliverer.ts'
import type { MovableClock } from '../state/clock.ts'
import type { Kind } from '../state/objects/kinds.ts'
import { listObjects } from '../state/objects/objects.repository.ts'
import type { Sandbox } from '../state/sandbox.ts'
import { DEFAULT_SWITCHES, type Switches, setSwitches } from '../state/switches.ts'

/** Everything the controls can change. */
export type Controls = {
  sandbox: Sandbox
  clock: MovableClock
  deliverer: Deliverer
  held: HeldCalls
}

export function readClock({ clock }: Controls) {
  return { now: clock().toISOString(), offsetSeconds: clock.offsetSeconds() }
}

/** Resolves when everything that became due on the way has been done and sent. */
export async function advanceClock(controls: Controls, seconds: number) {
  const { sandbox, clock, deliverer } = controls
  await moveClock(sandbox, clock, seconds, deliverer.flush)
  return readClock(controls)
}

/** Returns to the machine's time. What has happened stays; whatever is due later waits until then. */
export async function resetClock(controls: Controls) {
  await controls.clock.reset()
  return readClock(controls)
}

/** Deliveries that were held back by a switch may be due now. */
export async function turnSwitches(sandbox: Sandbox, given: Partial<Switches>) {
  const switches = await setSwitches(sandbox.db, given)
  sandbox.wake()
  return switches
}

export const resetSwitches = (sandbox: Sandbox) => turnSwitches(sandbox, DEFAULT_SWITCHES)

type GivenFault = Partial<Omit<Fault, 'id' | 'remaining'>> & {
  kind: FaultKind
  times?: number | null
}

/** Strikes once, on any call, by default; an outage lasts until it is removed. */
export async function addFault(sandbox: Sandbox, given: GivenFault): Promise<Fault> {
  const { kind, times = kind === 'outage' ? null : 1, route = '*', probability = 1 } = given
  const { delayMs = null, retryAfterSeconds = 1 } = given
  const fault = { route, kind, remaining: times, probability, delayMs, retryAfterSeconds }
  return insertFault(sandbox.db, fault)
}

export const readFaults = (sandbox: Sandbox): Promise<Fault[]> => listFaults(sandbox.db)

export const removeFaults = (sandbox: Sandbox): Promise<void> => deleteFaults(sandbox.db)

export async function removeFault(sandbox: Sandbox, id: number): Promise<void> {
  if (!(await deleteFault(sandbox.db, id))) throw notFound()
}

const MAX_SHOWN = 200

export const listRecent = (sandbox: Sandbox, kind: Kind) =>
  listObjects(sandbox.db, kind, {}, { limit: MAX_SHOWN })

export const listRecentRequests = (sandbox: Sandbox) => listRequests(sandbox.db, MAX_SHOWN)

/** As if a day had passed for the idempotency keys alone. */
export const forgetIdempotencyKeys = (sandbox: Sandbox) => deleteKeys(sandbox.db)
