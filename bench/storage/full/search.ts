import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { drive } from '../../harness/compare.ts'
import { atMost, number, type Row } from '../../harness/row.ts'
import { ROWS } from '../../harness/settings.ts'
import { middleTurn, quotient } from '../../harness/turns.ts'
import { authorized, type Service, withService } from './service.ts'

const FEW = 1000
const IN_FOLDER = 500
const IN_LARGE_FOLDER = Math.min(100_000, ROWS / 2)
const SEARCH_BAR = 1.5
const PAGE_BAR = 1.3
const MOVE_BAR_MS = 50
const TURNS = 3
const MOVES = 9

/** Finding a file must not get slower with the number of files, nor moving a folder with the files in it. */
export async function search(folder: string): Promise<Row[]> {
  const few = join(folder, 'few')
  const many = join(folder, 'many')
  for (const [data, count] of [
    [few, FEW],
    [many, ROWS],
  ] as const) {
    await withService(data, async () => {})
    plantNamedFiles(data, count)
  }
  return withService(few, (small) =>
    withService(many, async (large) => [
      await against('search by two words in', { small, large }, SEARCH_BAR, '?q=INVOICE%200000777'),
      await against(
        'the page of a folder, in',
        { small, large },
        PAGE_BAR,
        '?folder=/f1&sort=name',
      ),
      await moves(large),
    ]),
  )
}

type Both = { small: Service; large: Service }

async function against(what: string, { small, large }: Both, bar: number, query: string) {
  const path = `/file/search${query}`
  const p50 = async (service: Service) =>
    (await drive(service, { path, headers: authorized(service) }, { connections: 4 })).p50Ms
  const { ours, baseline, ratio } = await middleTurn(TURNS, {
    ours: () => p50(large),
    baseline: () => p50(small),
    ratio: quotient,
    bar,
  })
  return {
    what: `${what} ${number(ROWS)} files, against ${number(FEW)}`,
    ours: `${ours.toFixed(2)} ms`,
    baseline: `${baseline.toFixed(2)} ms`,
    ratio,
    ...atMost(bar, ratio),
  }
}

async function moves(service: Service): Promise<Row> {
  const times: number[] = []
  for (let n = 0; n < MOVES; n += 1) {
    const [from, to] = n % 2 === 0 ? ['/large', '/moved'] : ['/moved', '/large']
    const since = performance.now()
    const reply = await fetch(`${service.url}/file/folders/move`, {
      method: 'POST',
      headers: { ...authorized(service), 'content-type': 'application/json' },
      body: JSON.stringify({ from, to }),
    })
    const { files } = (await reply.json()) as { files: number }
    if (files !== IN_LARGE_FOLDER) throw new Error(`Moved ${files} files`)
    times.push(performance.now() - since)
  }
  const middle = times.sort((one, other) => one - other)[Math.floor(MOVES / 2)] ?? 0
  return {
    what: `move a folder of ${number(IN_LARGE_FOLDER)} files`,
    ours: `${middle.toFixed(1)} ms`,
    ...atMost(MOVE_BAR_MS, middle, ' ms'),
  }
}

/** Rows only: a search never reads the bytes. */
function plantNamedFiles(data: string, count: number): void {
  const db = new Sqlite(join(data, 'storage-full.db'))
  const folder = db.prepare(
    `insert into folders (id, owner_id, parent_id, path, created_at) values (?, '2', null, ?, '2030')`,
  )
  const file = db.prepare(
    `insert into files (id, owner_id, owner_name, original_filename, stored_filename, extension,
       content_type, size_bytes, checksum_sha256, location_id, object_name, state, thumbnail, created_at,
       folder_id, folded_name, words)
     values (?, '2', 'user', ?, ?, 'png', 'image/png', 104, '', 1, ?, 'stored', 'none', '2030', ?, ?, ?)`,
  )
  const word = db.prepare(`insert into file_words (owner_id, word, file_id) values ('2', ?, ?)`)
  const total = db.prepare(`insert into file_totals (owner_id, total) values ('2', ?)`)
  db.transaction(() => {
    const large = Math.ceil(count / IN_FOLDER) + 1
    for (let n = 1; n < large; n += 1) folder.run(n, `/f${n}`)
    folder.run(large, '/large')
    for (let id = 1; id <= count; id += 1) {
      const digits = String(id).padStart(7, '0')
      const name = `invoice ${digits}.png`
      const isInLarge = count === ROWS && id > count - IN_LARGE_FOLDER
      const folderId = isInLarge ? large : Math.ceil(id / IN_FOLDER)
      file.run(id, name, `${id}.png`, `${id}.png`, folderId, name, ` invoice ${digits} png `)
      for (const text of ['invoice', digits, 'png']) word.run(text, id)
    }
    total.run(count)
  })()
  db.close()
}
