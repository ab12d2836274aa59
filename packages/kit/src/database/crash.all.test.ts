import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { engines } from '../../testing/databases/engines.ts'
import { type BurstTables, burstMigrations } from '../../testing/processes/burst-writer.ts'
import { openDatabase } from './open.ts'

const WRITER = join(import.meta.dirname, '../../testing/processes/burst-writer.ts')
const ENOUGH = 300

for (const engine of engines)
  describe(`a process killed during a burst of writes, on ${engine.name}`, engine.options, () => {
    test('loses no acknowledged write and leaves nothing half-written', async (t) => {
      const url = await engine.freshUrl(t)

      const acknowledged = await writeUntilKilled(url)

      const { db, close } = await openDatabase<BurstTables>(url, burstMigrations)
      t.after(close)
      const rows = await db
        .selectFrom('burst')
        .select(['pair', ({ fn }) => fn.countAll<number>().as('halves')])
        .groupBy('pair')
        .execute()
      const halves = new Map(rows.map((row) => [row.pair, Number(row.halves)]))
      assert.ok(acknowledged.length >= ENOUGH)
      assert.deepEqual(
        acknowledged.filter((pair) => halves.get(pair) !== 2),
        [],
      )
      assert.deepEqual(
        [...halves].filter(([, count]) => count !== 2),
        [],
      )
    })
  })

/** Kills the writer while it writes and returns every pair whose commit it had announced. */
async function writeUntilKilled(url: string): Promise<string[]> {
  const writer = spawn(process.execPath, [WRITER, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const acknowledged: string[] = []
  const lines = createInterface({ input: writer.stdout })
  lines.on('line', (pair) => {
    acknowledged.push(pair)
    if (acknowledged.length === ENOUGH) writer.kill('SIGKILL')
  })
  await Promise.all([once(writer, 'close'), once(lines, 'close')])
  assert.equal(writer.signalCode, 'SIGKILL')
  return acknowledged
}
