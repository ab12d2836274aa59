import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backUpSqlite, isBusy, openSqlite } from './file.ts'

test('a database also counts as busy while another process recovers its WAL', () => {
  const codes = ['SQLITE_BUSY', 'SQLITE_BUSY_RECOVERY', 'SQLITE_CORRUPT', undefined]

  assert.deepEqual(
    codes.map((code) => isBusy({ code })),
    [true, true, false, false],
  )
})

/** A folder open to all users, in a process whose umask hides nothing. */
function openFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-modes-'))
  chmodSync(folder, 0o777)
  const umask = process.umask(0)
  t.after(() => {
    process.umask(umask)
    rmSync(folder, { recursive: true })
  })
  return folder
}

const modesIn = (folder: string) =>
  readdirSync(folder)
    .sort()
    .map((name) => `${name} ${(statSync(join(folder, name)).mode & 0o777).toString(8)}`)

test('other users of the machine cannot read the file, its WAL or a backup', async (t) => {
  const folder = openFolder(t)
  const file = join(folder, 'x.db')

  const sqlite = openSqlite(file)
  t.after(() => sqlite.close())
  sqlite.exec('create table secrets (value text)')
  await backUpSqlite(file, '1.1.0')

  assert.deepEqual(modesIn(folder), [
    'x.db 600',
    'x.db-shm 600',
    'x.db-wal 600',
    'x.db.before-1.1.0 600',
  ])
})

test('a file that an earlier version left readable is made private', (t) => {
  const folder = openFolder(t)
  const file = join(folder, 'x.db')
  const earlier = openSqlite(file)
  earlier.exec('create table secrets (value text)')
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)

  const sqlite = openSqlite(file)

  t.after(() => sqlite.close())
  t.after(() => earlier.close())
  assert.deepEqual(modesIn(folder), ['x.db 600', 'x.db-shm 600', 'x.db-wal 600'])
})
