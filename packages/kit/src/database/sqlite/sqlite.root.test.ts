import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { asRoot } from '../../../testing/processes/as-root.ts'
import { StartError } from '../../problems.ts'
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

const SETTING = 'SHOP_DATABASE_URL'

type Other = { make(file: string, folder: string): void; says: RegExp; options?: typeof asRoot }

/** What a mistyped setting may name. */
const OTHERS: Record<string, Other> = {
  'a folder': { make: (file) => mkdirSync(file), says: /is a folder/ },
  'a pipe': { make: (file) => spawnSync('mkfifo', [file]), says: /is not a regular file/ },
  'a link to a folder': {
    make: (file, folder) => {
      mkdirSync(join(folder, 'target'))
      symlinkSync(join(folder, 'target'), file)
    },
    says: /is a folder/,
  },
  'a link to nothing': {
    make: (file, folder) => symlinkSync(join(folder, 'target'), file),
    says: /is a link to nothing/,
  },
  "a user's link to a file of another user": {
    make: (file, folder) => {
      writeFileSync(join(folder, 'target'), '')
      symlinkSync(join(folder, 'target'), file)
      spawnSync('chown', ['-h', '65534', file])
    },
    says: /is a link to a file of another user/,
    options: asRoot,
  },
}

describe('a setting that names something else is refused before anything is changed:', () => {
  for (const [name, { make, says, options }] of Object.entries(OTHERS))
    test(name, options ?? {}, (t) => {
      const folder = openFolder(t)
      const file = join(folder, 'x.db')
      make(file, folder)
      for (const each of readdirSync(folder))
        if (existsSync(join(folder, each))) chmodSync(join(folder, each), 0o755)
      const before = contentOf(folder)

      const open = () => openSqlite(file, SETTING)

      assert.throws(open, (error: Error) => {
        assert.ok(error instanceof StartError)
        assert.match(error.message, says)
        assert.match(error.message, /Choose another file with SHOP_DATABASE_URL\.$/)
        return true
      })
      assert.deepEqual(contentOf(folder), before)
    })

  test('a file that is not a database', (t) => {
    const folder = openFolder(t)
    const file = join(folder, 'notes.txt')
    writeFileSync(file, 'my notes, which others may read\n'.repeat(100), { mode: 0o644 })

    assert.throws(() => openSqlite(file), /file is not a database/)

    assert.deepEqual(contentOf(folder), ['notes.txt 644'])
  })
})

const contentOf = (folder: string) =>
  readdirSync(folder)
    .sort()
    .map((name) => {
      const { mode = 0 } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {}
      return `${name} ${(mode & 0o777).toString(8)}`
    })

test('a link to a database file on another disk is followed, and that file is private', (t) => {
  const folder = openFolder(t)
  const target = join(folder, 'disk')
  mkdirSync(target)
  const moved = openSqlite(join(target, 'x.db'))
  moved.exec('create table secrets (value text)')
  moved.close()
  chmodSync(join(target, 'x.db'), 0o644)
  symlinkSync(join(target, 'x.db'), join(folder, 'x.db'))

  const sqlite = openSqlite(join(folder, 'x.db'))

  t.after(() => sqlite.close())
  assert.equal(sqlite.prepare('select count(*) as n from secrets').pluck().get(), 0)
  assert.deepEqual(contentOf(target), ['x.db 600', 'x.db-shm 600', 'x.db-wal 600'])
})

test("another user's database file keeps its mode", asRoot, (t) => {
  const folder = openFolder(t)
  const file = join(folder, 'x.db')
  openSqlite(file).close()
  chownSync(file, 65534, 65534)
  chmodSync(file, 0o640)

  openSqlite(file).close()

  assert.deepEqual(contentOf(folder), ['x.db 640'])
})
