import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Migration, openDatabase } from '@plinth/kit/database'

type Tables = { bare: { id: string; body: string } }

const BARE: Migration = {
  name: 'bench-0001-bare',
  up: async (db) => {
    await db.schema
      .createTable('bare')
      .addColumn('id', 'varchar(64)', (column) => column.primaryKey())
      .addColumn('body', 'text', (column) => column.notNull())
      .execute()
  },
}

/** Inserts of this size per second through our own query builder, each durable before the next. */
export async function bareInsertsPerSecond(body: string, seconds: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'))
  const { db, close } = await openDatabase<Tables>(`sqlite:${folder}/bare.db`, [BARE])
  let rows = 0
  const insertFor = async (milliseconds: number) => {
    const started = performance.now()
    const before = rows
    for (; performance.now() - started < milliseconds; rows++)
      await db
        .insertInto('bare')
        .values({ id: `row_${rows}`, body })
        .execute()
    return (rows - before) / ((performance.now() - started) / 1000)
  }
  await insertFor(seconds * 500) // Warm up the code and let the log reach its full size.
  const rate = await insertFor(seconds * 1000)
  await close()
  rmSync(folder, { recursive: true, force: true })
  return rate
}
