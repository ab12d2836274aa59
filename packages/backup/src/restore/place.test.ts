import assert from 'node:assert/strict'
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { pooled, postgres } from '@plinth/kit/testing'
import pg from 'pg'
import { isUnfinished, markFolder, placesOf, releaseFolder } from './place.ts'

test('a schema that the role does not own is not moved aside, and the reason is given', {
  skip: postgres.skip || pooled,
}, async (t) => {
  const url = new URL(await postgres.freshUrl(t))
  const owner = new pg.Client({ connectionString: url.href })
  await owner.connect()
  const role = `guest_of_${url.pathname.slice(1)}`
  await owner.query(`create role "${role}" login password 'guest'`)
  await owner.query(`grant all on schema public to "${role}"`)
  t.after(async () => {
    await owner.query(`drop owned by "${role}"`)
    await owner.query(`drop role "${role}"`)
    await owner.end()
  })
  url.username = role
  url.password = 'guest'
  const database = { url: url.href, setting: 'IDENTITY_DATABASE_URL', migrations: [], sealed: {} }
  const [place] = placesOf({ name: 'identity', keys: {}, database })

  await assert.rejects(async () => place?.setAside('20261116'), {
    reason: 'refused',
    message:
      /^The database of identity cannot be moved aside: must be owner of schema public\. Use a role with that right, or restore to an empty database\.$/,
  })
  assert.equal(await place?.isEmpty(), true)
})

const STAMP = '20261116'
const ASIDE = `.before-restore-${STAMP}`

/** A service with a database of one table, and its place. */
function sqliteService(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-place-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'identity.db')
  const url = `sqlite:${file}`
  const database = { url, setting: 'IDENTITY_DATABASE_URL', migrations: [], sealed: {} }
  const service = { name: 'identity', keys: {}, database }
  const [place] = placesOf(service)
  assert.ok(place)
  const create = () => {
    const db = new DatabaseSync(file)
    db.exec('create table users (id integer)')
    db.close()
  }
  const tables = (path: string) => {
    // Immutable: reading leaves no files beside the database.
    const db = new DatabaseSync(new URL(`${pathToFileURL(path)}?immutable=1`), { readOnly: true })
    const rows = db.prepare("select name from sqlite_master where type = 'table'").all()
    db.close()
    return rows.map(({ name }) => name)
  }
  return { folder, file, service, place, create, tables }
}

test('a database moved aside leaves a marked one in its place, and comes back', async (t) => {
  const { folder, file, service, place, create, tables } = sqliteService(t)
  assert.deepEqual([await place.isEmpty(), await isUnfinished(service)], [true, false])
  create()
  assert.deepEqual([await place.isEmpty(), await isUnfinished(service)], [false, false])

  await place.setAside(STAMP)

  assert.equal(place.asideOf(STAMP), join(folder, ASIDE))
  assert.deepEqual(tables(join(folder, ASIDE, 'identity.db')), ['users'])
  assert.deepEqual(tables(file), ['restore_in_progress'])
  assert.equal(await isUnfinished(service), true)
  for (const end of ['-wal', '-shm', '-journal', '-reserve']) writeFileSync(file + end, 'stale')
  await place.putBack(STAMP)
  assert.deepEqual([tables(file), readdirSync(folder)], [['users'], ['identity.db']])
})

test('a database that was only linked aside when the restore was killed is marked by the next one', async (t) => {
  const { folder, file, place, create, tables } = sqliteService(t)
  create()
  mkdirSync(join(folder, ASIDE))
  linkSync(file, join(folder, ASIDE, 'identity.db'))

  await place.setAside(STAMP)
  const db = new DatabaseSync(file)
  db.exec('create table restored (id integer)')
  db.close()
  // What the restore has put there since is not moved aside a second time.
  await place.setAside(STAMP)

  assert.deepEqual(tables(file), ['restore_in_progress', 'restored'])
  assert.deepEqual(tables(join(folder, ASIDE, 'identity.db')), ['users'])
})

test('a database that a restore created in an empty place is removed with its companions', async (t) => {
  const { folder, file, place, create } = sqliteService(t)
  create()
  for (const end of ['-wal', '-shm', '-journal', '-reserve']) writeFileSync(file + end, '')
  writeFileSync(`${file}.copy`, '')

  await place.clear()

  assert.deepEqual(readdirSync(folder), ['identity.db.copy'])
})

test('a folder with only uploads in flight and our own files counts as empty, and they stay', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'plinth-place-'))
  t.after(() => rmSync(root, { recursive: true }))
  const service = { name: 'storage-key', keys: {}, root }
  const [place] = placesOf(service)
  assert.ok(place)
  const own = ['.before-restore-20260101', '.incoming']
  for (const name of own) mkdirSync(join(root, name))
  assert.equal(await place.isEmpty(), true)
  writeFileSync(join(root, 'photo.png'), 'png')
  assert.equal(await place.isEmpty(), false)

  await place.setAside(STAMP)
  assert.deepEqual(
    readdirSync(root).sort(),
    ['.before-restore-20260101', ASIDE, '.incoming'].sort(),
  )
  writeFileSync(join(root, 'restored.png'), 'png')
  await place.putBack(STAMP)
  assert.deepEqual(readdirSync(root).sort(), [...own, 'photo.png'].sort())
  await place.clear()
  assert.deepEqual(readdirSync(root).sort(), own)
  await markFolder(root)
  assert.equal(await isUnfinished(service), true)
  await releaseFolder(root)
  assert.deepEqual([await isUnfinished(service), existsSync(root)], [false, true])
})
