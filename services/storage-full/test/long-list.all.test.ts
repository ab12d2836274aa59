import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { sql } from 'kysely'
import { openStorage } from '../src/app.ts'
import { engines, startStorage, type TestStorage } from './start-storage.ts'
import { watchTurns } from './watch-turns.ts'

const BATCH = 10_000
const FILES = 100_000
const CLIENT = `
  const [url, token] = process.argv.slice(1)
  const reply = await fetch(url, { headers: { authorization: 'Bearer ' + token } })
  console.log((await reply.text()).split('"storedFilename"').length - 1)`
const MAX_TURN_MS = 50
/** On a virtual machine, time stolen by the host may count as ours, but not in every reading. */
const READINGS = 5

for (const engine of engines)
  test(
    `a list of ${FILES} files never blocks other requests, on ${engine.name}`,
    engine.options,
    async (t) => {
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })
      await insertFiles(service)
      await readList(service)
      const turns = watchTurns(t)

      for (const [query, files] of [
        ['', FILES],
        ['?page=49&size=2000', 2000],
        ['?page=4999&size=20', 20],
      ] as const) {
        const readings: number[] = []
        while (readings.length < READINGS && !readings.some((ms) => ms < MAX_TURN_MS)) {
          assert.equal(await readList(service, query), files)
          readings.push(turns.longestMs())
        }
        assert.ok(Math.min(...readings) < MAX_TURN_MS, `${query}: ${readings.join()} ms`)
      }
    },
  )

/** Runs in a process of its own, so that the client's work does not count. */
async function readList({ baseUrl, user }: TestStorage, query = ''): Promise<number> {
  const child = spawn(process.execPath, ['-e', CLIENT, `${baseUrl}/file/list${query}`, user], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return Number(await text(child.stdout))
}

async function insertFiles({ config, clock }: TestStorage): Promise<void> {
  const log = createLogger('list', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  const isSqlite = config.databaseUrl.startsWith('sqlite:')
  // In batches, because a statement times out after ten seconds.
  for (let first = 1; first <= FILES; first += BATCH) {
    const [from, to] = [sql.lit(first), sql.lit(Math.min(first + BATCH - 1, FILES))]
    const numbers = isSqlite
      ? sql`with recursive numbers(n) as (select ${from} union all select n + 1 from numbers where n < ${to})`
      : sql`with numbers as (select n from generate_series(${from}, ${to}) as n)`
    await sql`insert into files (owner_id, owner_name, original_filename, stored_filename, extension,
      content_type, size_bytes, checksum_sha256, location_id, object_name, state, thumbnail, created_at)
    ${numbers} select '2', 'user', 'a picture of a lake.png', 'stored-' || n, 'png', 'image/png', 1000,
      '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef', 1, 'object-' || n, 'stored',
      'none', '2026-11-15T12:00:00.000Z' from numbers`.execute(storage.db)
  }
  await database.close()
}
