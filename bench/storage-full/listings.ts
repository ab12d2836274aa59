import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { drive, type Row } from '../harness.ts'
import { withService } from './service.ts'

const MANY = Number(process.env.BENCH_ROWS ?? 1_000_000)
const FEW = 1000
const BAR = 1.3
const TURNS = 3

/** A page of 50 must not get slower with what lies behind it. */
export async function listings(folder: string): Promise<Row[]> {
  const few = join(folder, 'few')
  const many = join(folder, 'many')
  for (const [data, count] of [
    [few, FEW],
    [many, MANY],
  ] as const) {
    await withService(data, async () => {})
    plantFiles(join(data, 'storage-full.db'), count)
  }
  return withService(few, (small) =>
    withService(many, async (large) => {
      const turns: { few: number; many: number; ratio: number }[] = []
      while (turns.length < TURNS) {
        const [few, many] = [await p50(small), await p50(large)]
        turns.push({ few, many, ratio: many / few })
      }
      const middle = turns.sort((a, b) => a.ratio - b.ratio)[TURNS >> 1]
      const { few = 0, many = 0, ratio = 0 } = middle ?? {}
      return [
        {
          name: `storage-full: list 50 of ${MANY.toLocaleString('en')} files against of ${FEW.toLocaleString('en')}`,
          figure: `${many.toFixed(2)} to ${few.toFixed(2)} ms`,
          ratio,
          bar: `≤ ${BAR}`,
          met: ratio <= BAR,
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

/** Rows only: a list never looks at the bytes. */
function plantFiles(file: string, count: number): void {
  const db = new Sqlite(file)
  const insert = db.prepare(
    `insert into files (owner_id, owner_name, original_filename, stored_filename, extension,
       content_type, size_bytes, checksum_sha256, location_id, object_name, state, thumbnail, created_at)
     values ('2', 'user', 'a.png', ?, 'png', 'image/png', 104, '', 1, ?, 'stored', 'none', '2030')`,
  )
  const total = db.prepare(`insert into file_totals (owner_id, total) values ('2', ?)`)
  db.transaction(() => {
    for (let row = 0; row < count; row += 1) insert.run(`${row}.png`, `${row}.png`)
    total.run(count)
  })()
  db.close()
}
