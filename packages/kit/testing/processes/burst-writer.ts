/** Writes pairs of rows as fast as it can, four at a time, and prints which pairs were committed. */

import type { Migration } from '../../src/database/migrate.ts'
import { type Database, openDatabase } from '../../src/database/open.ts'
import { inTransaction } from '../../src/database/transaction.ts'

export type BurstTables = { burst: { pair: string; half: number } }

export const burstMigrations: Migration[] = [
  {
    name: 'burst-0001',
    up: async (db) => {
      await db.schema
        .createTable('burst')
        .addColumn('pair', 'varchar(40)', (column) => column.notNull())
        .addColumn('half', 'integer', (column) => column.notNull())
        .execute()
    },
  },
]

if (import.meta.main) {
  const { db } = await openDatabase<BurstTables>(process.argv[2] ?? '', burstMigrations)
  await Promise.all(['a', 'b', 'c', 'd'].map((writer) => writeForever(db, writer)))
}

async function writeForever(db: Database<BurstTables>['db'], writer: string): Promise<never> {
  for (let count = 1; ; count++) {
    const pair = `${writer}${count}`
    await inTransaction(db, async (transaction) => {
      for (const half of [1, 2])
        await transaction.insertInto('burst').values({ pair, half }).execute()
    })
    process.stdout.write(`${pair}\n`)
  }
}
