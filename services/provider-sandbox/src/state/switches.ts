import type { SandboxDb } from './tables.ts'
import { findValue, updateValue } from './values.repository.ts'

export const SIGNING_MODES = ['current', 'second', 'both', 'wrong'] as const

export const REFUND_MODES = [
  'by-method',
  'succeed',
  'pending',
  'requires-action',
  'fail-later',
] as const

/** How the sandbox misbehaves until the switches are changed. */
export type Switches = {
  /** Deliveries wait until this is off again. */
  paused: boolean
  /** Event types that are never delivered; `*` is all of them. */
  drop: string[]
  /** How long each first delivery waits, on the sandbox's clock. */
  delaySeconds: number
  /** How many more times each event is delivered. */
  duplicates: number
  /** How many first deliveries are gathered and then sent in reverse order; below 2 is off. */
  reorder: number
  /** The `created` of every event, or null for the true second. */
  eventSecond: number | null
  signWith: (typeof SIGNING_MODES)[number]
  /** The `api_version` of every event, or null for the current one. */
  apiVersion: string | null
  /** How refunds turn out; with `by-method` the card decides. */
  refunds: (typeof REFUND_MODES)[number]
  /** Whether the provider's minimum and maximum amounts are enforced. */
  amountLimits: boolean
}

export const DEFAULT_SWITCHES: Switches = {
  paused: false,
  drop: [],
  delaySeconds: 0,
  duplicates: 0,
  reorder: 0,
  eventSecond: null,
  signWith: 'current',
  apiVersion: null,
  refunds: 'by-method',
  amountLimits: false,
}

export async function readSwitches(db: SandboxDb): Promise<Switches> {
  return { ...DEFAULT_SWITCHES, ...(await findValue<Partial<Switches>>(db, 'switches')) }
}

export async function setSwitches(db: SandboxDb, given: Partial<Switches>): Promise<Switches> {
  const switches = { ...(await readSwitches(db)), ...given }
  await updateValue(db, 'switches', switches)
  return switches
}
