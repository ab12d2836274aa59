import { join } from 'node:path'
import { openDatabase } from '@plinth/kit/database'
import { sql } from 'kysely'
import { storageMigrations } from '../../services/storage-full/src/database/migrations/index.ts'
import type { StorageTables } from '../../services/storage-full/src/database/tables.ts'
import { durableInsertsPerSecond } from '../baselines/durable-inserts.ts'
import { drive } from '../harness/compare.ts'
import { atMost, number, type Row } from '../harness/row.ts'
import { ROWS, SECONDS } from '../harness/settings.ts'
import { middleTurn, quotient } from '../harness/turns.ts'
import { plantFiles as plantSqliteFiles } from '../storage/full/lists.ts'
import { authorized, type Service, songUpload, withService } from '../storage/full/service.ts'
import type { DatabaseNamed } from './databases.ts'
import { rateAgainst } from './rates.ts'

const BYTES = 10 * 1024
const CLIENTS = 50
const FEW = 1000
const TURNS = 3

/** Small uploads and long lists in the full edition. */
export async function files(databaseNamed: DatabaseNamed, folder: string): Promise<Row[]> {
  const onPostgres = async (name: string) => ({
    STORAGE_FULL_DATABASE_URL: await databaseNamed(name),
  })
  const bare = await databaseNamed('bare_rows')
  const uploads = await withService(
    join(folder, 'postgres'),
    (ours) =>
      withService(join(folder, 'sqlite'), async (sqlite) => [
        await rateAgainst(
          'durable 10 KB uploads on PostgreSQL, against SQLite',
          uploadRate(ours),
          uploadRate(sqlite),
          0.6,
        ),
        await rateAgainst(
          'the same, against durable inserts over 10 connections',
          uploadRate(ours),
          () => durableInsertsPerSecond(bare, 'x'.repeat(300), SECONDS),
        ),
      ]),
    await onPostgres('uploads'),
  )
  const planted = async (name: string, count: number) => {
    const [data, env] = [join(folder, name), await onPostgres(name)]
    await withService(data, async () => {}, env)
    await plantFiles(env.STORAGE_FULL_DATABASE_URL, count)
    return <T>(work: (service: Service) => Promise<T>) => withService(data, work, env)
  }
  const withFew = await planted('few', FEW)
  const withMany = await planted('many', ROWS)
  const sqlite = join(folder, 'many-sqlite')
  await withService(sqlite, async () => {})
  plantSqliteFiles(sqlite, ROWS)
  const lists = await withMany(async (large) => [
    await withFew((small) => listRow(large, small, `of ${number(FEW)}`, 1.3)),
    await withService(sqlite, (other) => listRow(large, other, 'SQLite')),
  ])
  return [...uploads, ...lists]
}

function uploadRate(service: Service): () => Promise<number> {
  const request = songUpload(service, BYTES)
  return async () => (await drive(service, request, { connections: CLIENTS })).requestsPerSecond
}

async function listRow(
  large: Service,
  other: Service,
  against: string,
  bar?: number,
): Promise<Row> {
  const { ours, baseline, ratio } = await middleTurn(TURNS, {
    ours: () => listMs(large),
    baseline: () => listMs(other),
    ratio: quotient,
    bar,
  })
  return {
    what: `list 50 of ${number(ROWS)} files on PostgreSQL, against ${against}`,
    ours: `${ours.toFixed(2)} ms`,
    baseline: `${baseline.toFixed(2)} ms`,
    ratio,
    ...(bar !== undefined && atMost(bar, ratio)),
  }
}

async function listMs(service: Service): Promise<number> {
  const page = { path: '/file/list?page=0&size=50', headers: authorized(service) }
  return (await drive(service, page, { connections: 4 })).p50Ms
}

/** Rows only: a list never reads the bytes. */
async function plantFiles(url: string, count: number): Promise<void> {
  const { db, close } = await openDatabase<StorageTables>(url, storageMigrations, {
    statementMs: 600_000,
  })
  await sql`insert into files (owner_id, owner_name, original_filename, stored_filename, extension,
      content_type, size_bytes, checksum_sha256, location_id, object_name, state, thumbnail, created_at,
      words)
    select '2', 'user', 'a.png', i || '.png', 'png', 'image/png', 104, '', 1, i || '.png', 'stored',
      'none', '2030', ' a png ' from generate_series(1, ${count}) i`.execute(db)
  await sql`insert into file_totals (owner_id, total) values ('2', ${count})`.execute(db)
  await sql`analyze`.execute(db)
  await close()
}
