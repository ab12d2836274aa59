import { type RawBuilder, sql } from 'kysely'
import { DAY_MS, HOUR_MS } from '../../runtime/clock.ts'
import { type Db, engineOf } from '../engine.ts'
import type { Migration } from '../migrate.ts'

export type LeaseTables = { leases: { name: string; holder: string; until_ms: number } }

/** Milliseconds by the database's clock: the nodes' own clocks may differ. */
export function databaseTime<T>(db: Db<T>): RawBuilder<number> {
  return engineOf(db) === 'postgres'
    ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql<number>`cast(unixepoch('subsec') * 1000 as integer)`
}

/**
 * Takes the lease when it is free, expired or already ours. It is one statement, so there is one winner.
 * A lease that ends implausibly late was granted before the clock was set back, and counts as expired.
 */
export async function claimLease(
  db: Db<LeaseTables>,
  name: string,
  holder: string,
  seconds: number,
): Promise<boolean> {
  const now = databaseTime(db)
  const until = sql<number>`${now} + ${seconds * 1000}`
  const row = await db
    .insertInto('leases')
    .values({ name, holder, until_ms: until })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ holder, until_ms: until })
        .where((where) =>
          where.or([
            where('leases.until_ms', '<=', now),
            where('leases.until_ms', '>', sql<number>`${now} + ${2 * seconds * 1000}`),
            where('leases.holder', '=', holder),
          ]),
        ),
    )
    .returning('name')
    .executeTakeFirst()
  return row !== undefined
}

export async function deleteLease(
  db: Db<LeaseTables>,
  name: string,
  holder: string,
): Promise<void> {
  await db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder).execute()
}

/**
 * Whether anyone holds a lease whose name starts with `prefix` right now: as raw SQL it does not share
 * the transaction of reads that began earlier. A lease that ends later than `seconds` allow was granted
 * before the clock was set back, and counts as expired.
 */
export async function isLeaseHeld(
  db: Db<LeaseTables>,
  prefix: string,
  seconds: number,
): Promise<boolean> {
  const now = databaseTime(db)
  const { rows } = await sql`select name from leases where name like ${`${prefix}%`}
    and until_ms > ${now} and until_ms <= ${now} + ${2 * seconds * 1000} limit 1`.execute(db)
  return rows.length > 0
}

export async function countLeases(db: Db<LeaseTables>): Promise<number> {
  const { total } = await db
    .selectFrom('leases')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** Longer than any lease is granted for. */
const MAX_MS = 7 * DAY_MS

/** Deletes leases that processes failed to release, long ago or before the clock was set back. */
export async function deleteDeadLeases(db: Db<LeaseTables>): Promise<void> {
  const now = databaseTime(db)
  await db
    .deleteFrom('leases')
    .where((where) =>
      where.or([
        where('until_ms', '<', sql<number>`${now} - ${HOUR_MS}`),
        where('until_ms', '>', sql<number>`${now} + ${MAX_MS}`),
      ]),
    )
    .execute()
}

/** The kit's own tables; every service with a database lists these first. */
export const kitMigrations: Migration[] = [
  {
    name: 'kit-0001-leases',
    up: async (db) => {
      await db.schema
        .createTable('leases')
        .addColumn('name', 'varchar(200)', (column) => column.primaryKey())
        .addColumn('holder', 'varchar(64)', (column) => column.notNull())
        .addColumn('until_ms', 'bigint', (column) => column.notNull())
        .execute()
    },
  },
]
