import { sql } from 'kysely'
import type { SandboxDb } from './tables.ts'

/** Increments a counter and returns it. A rollback also rolls the counter back. */
export async function nextNumber(db: SandboxDb, name: string): Promise<number> {
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

export async function findValue<T>(db: SandboxDb, name: string): Promise<T | undefined> {
  const row = await db
    .selectFrom('values')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row && JSON.parse(row.value)
}

export async function updateValue(db: SandboxDb, name: string, value: unknown): Promise<void> {
  const json = JSON.stringify(value)
  await db
    .insertInto('values')
    .values({ name, value: json })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: json }))
    .execute()
}

/**
 * Does not sync the disk at each commit: a killed process loses nothing, but a power cut may lose the
 * last commits. No money is at stake, and clients are often benchmarked against the sandbox.
 */
export async function relaxDurability(db: SandboxDb): Promise<void> {
  await sql`pragma synchronous = normal`.execute(db)
}
