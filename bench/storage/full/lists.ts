import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { drive } from '../../harness/compare.ts'
import { atMost, number, type Row } from '../../harness/row.ts'
import { ROWS } from '../../harness/settings.ts'
import { middleTurn, quotient } from '../../harness/turns.ts'
import { withService } from './service.ts'

const FEW = 1000
const BAR = 1.3
const TURNS = 3

/** A page of 50 must not get slower with the total number of files. */
export async function lists(folder: string): Promise<Row[]> {
  const few = join(folder, 'few')
  const many = join(folder, 'many')
  for (const [data, count] of [
    [few, FEW],
    [many, ROWS],
  ] as const) {
    await withService(data, async () => {})
    plantFiles(data, count)
  }
  return withService(few, (small) =>
    withService(many, async (large) => {
      const { ours, baseline, ratio } = await middleTurn(TURNS, {
        ours: () => p50(large),
        baseline: () => p50(small),
        ratio: quotient,
        bar: BAR,
      })
      return [
        {
          what: `list 50 of ${number(ROWS)} files, against of ${number(FEW)}`,
          ours: `${ours.toFixed(2)} ms`,
          baseline: `${baseline.toFixed(2)} ms`,
          ratio,
          ...atMost(BAR, ratio),
        },
      ]
    }),
  )
}

async function p50(service: { url: string; token: string }): Promise<number> {
  const headers = { authorization: `Bearer ${service.token}` }
  const page = { path: '/file/list?page=0&size=50', headers }
  return (await drive(service, page, { connections: 4 })).p50Ms
}

/** Rows only: a list never reads the bytes. */
export function plantFiles(data: string, count: number): void {
  const db = new Sqlite(join(data, 'storage-full.db'))
  const insert = db.prepare(
    `insert into files (owner_id, owner_name, original_filename, stored_filename, extension,
       content_type, size_bytes, checksum_sha256, location_id, object_name, state, thumbnail, created_at,
       words)
     values ('2', 'user', 'a.png', ?, 'png', 'image/png', 104, '', 1, ?, 'stored', 'none', '2030', ' a png ')`,
  )
  const total = db.prepare(`insert into file_totals (owner_id, total) values ('2', ?)`)
  db.transaction(() => {
    for (let row = 0; row < count; row += 1) insert.run(`${row}.png`, `${row}.png`)
    total.run(count)
  })()
  db.close()
}
