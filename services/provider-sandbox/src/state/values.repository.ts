import { createHmac } from 'node:crypto'
import type { Db } from '@plinth/kit'
import { sql } from 'kysely'
import type { Sandbox } from './sandbox.ts'
import type { SandboxTables } from './tables.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** The same seed and the same calls in the same order give the same ids. */
export async function newId(sandbox: Sandbox, prefix: string, length = 24): Promise<string> {
  const number = await nextNumber(sandbox.db, prefix)
  return `${prefix}_${seededText(sandbox.config.seed, `${prefix}:${number}`, length)}`
}

/** Letters and digits that depend on nothing but the seed and the name. */
export function seededText(seed: string, name: string, length: number): string {
  let text = ''
  for (let block = 0; text.length < length; block++) {
    const bytes = createHmac('sha512', seed).update(`${name}:${block}`).digest()
    text += [...bytes].map((byte) => ALPHABET[byte % ALPHABET.length]).join('')
  }
  return text.slice(0, length)
}

/** A number from 0 up to but without 1, the same for the same seed and name. */
export function seededFraction(seed: string, name: string): number {
  return createHmac('sha256', seed).update(name).digest().readUInt32BE() / 2 ** 32
}

/** Counts one up and tells the new value. A rolled-back transaction gives its numbers back. */
export async function nextNumber(db: Db<SandboxTables>, name: string): Promise<number> {
  const row = await db
    .insertInto('counters')
    .values({ name, value: 1 })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({ value: eb('counters.value', '+', 1) })),
    )
    .returning('value')
    .executeTakeFirstOrThrow()
  return row.value
}

export async function findValue<T>(db: Db<SandboxTables>, name: string): Promise<T | undefined> {
  const row = await db
    .selectFrom('values')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row && JSON.parse(row.value)
}

export async function updateValue(
  db: Db<SandboxTables>,
  name: string,
  value: unknown,
): Promise<void> {
  const json = JSON.stringify(value)
  await db
    .insertInto('values')
    .values({ name, value: json })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: json }))
    .execute()
}

/**
 * No wait for the disk at each commit: a killed process loses nothing, a power cut may take the last
 * moments. No money is at stake here, and clients are often measured against the sandbox.
 */
export async function relaxDurability(db: Db<SandboxTables>): Promise<void> {
  await sql`pragma synchronous = normal`.execute(db)
}

export const SIGNING_WAYS = ['current', 'second', 'both', 'wrong'] as const

export const REFUND_WAYS = [
  'by-method',
  'succeed',
  'pending',
  'requires-action',
  'fail-later',
] as const

/** How the sandbox misbehaves until it is told otherwise. */
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
  /** The second that every event claims to be from, or null for the true one. */
  eventSecond: number | null
  signWith: (typeof SIGNING_WAYS)[number]
  /** The version that events claim to be in, or null for the current one. */
  apiVersion: string | null
  /** How refunds go; `by-method` leaves it to the card. */
  refunds: (typeof REFUND_WAYS)[number]
  /** Whether the provider's least and most amounts are enforced. */
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

export async function readSwitches(db: Db<SandboxTables>): Promise<Switches> {
  return { ...DEFAULT_SWITCHES, ...(await findValue<Partial<Switches>>(db, 'switches')) }
}

export async function setSwitches(
  db: Db<SandboxTables>,
  given: Partial<Switches>,
): Promise<Switches> {
  const switches = { ...(await readSwitches(db)), ...given }
  await updateValue(db, 'switches', switches)
  return switches
}
