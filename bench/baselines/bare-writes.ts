/**
 * The bare system calls that make small files durable: write, fsync, rename, fsync of the folder, and
 * optionally a row in SQLite.
 */
import { randomUUID } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'

type Work = { folder: string; bytes: number; writers: number; seconds: number; rows: boolean }

const { folder, bytes, writers, seconds, rows }: Work = JSON.parse(process.argv[2] ?? '{}')
const content = Buffer.alloc(bytes, 1)
const insertRow = rows ? openRows() : () => {}
let count = 0

async function store(name: string): Promise<void> {
  const file = await open(join(folder, `${name}.part`), 'wx')
  await file.write(content)
  await file.sync()
  await file.close()
  await rename(join(folder, `${name}.part`), join(folder, name))
  const parent = await open(folder, 'r')
  await parent.sync()
  await parent.close()
  insertRow(name)
}

/** As durable as our own rows: each is on disk before the next one. */
function openRows(): (name: string) => void {
  const database = new SqliteDatabase(join(folder, 'rows.db'))
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.exec('create table if not exists files (id integer primary key, name text unique)')
  const insert = database.prepare('insert into files (name) values (?)')
  return (name) => void insert.run(name)
}

async function filesPerSecond(duration: number): Promise<number> {
  const [started, before] = [performance.now(), count]
  const write = async () => {
    while (performance.now() - started < duration * 1000) {
      count += 1
      await store(randomUUID())
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  return (count - before) / ((performance.now() - started) / 1000)
}

await filesPerSecond(seconds / 2) // Warm up, like the service it is compared with.
console.log(await filesPerSecond(seconds))
