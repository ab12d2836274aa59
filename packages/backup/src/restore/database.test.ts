import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { type Migration, openDatabase } from '@plinth/kit/database'
import { engines, sqlite, type TestEngine } from '@plinth/kit/testing'
import { extract } from 'tar-stream'
import type { Manifest } from '../archive/manifest.ts'
import { openArchiveWriter } from '../archive/write.ts'
import { saveBackup } from '../kept/save.ts'
import type { ServiceData } from '../sources/service-data.ts'
import { restoreBackup } from './restore.ts'

const clock = () => new Date('2026-11-16T02:00:00.000Z')

const NOTES: Migration = {
  name: 'test-0001-notes',
  up: async (db) => {
    await db.schema
      .createTable('notes')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('text', 'varchar(100)')
      .execute()
  },
}

type Tables = { notes: { id: number; text: string | null } }

/** A service with two notes, an archive of it, and an empty database to restore to. */
async function backedUp(t: TestContext, engine: TestEngine) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-rows-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const sessions: boolean[] = []
  const key = randomBytes(32)
  const serviceAt = (url: string): ServiceData => ({
    name: 'notes',
    keys: { NOTES_MASTER_KEY: key },
    database: {
      url,
      setting: 'NOTES_DATABASE_URL',
      migrations: [NOTES],
      sealed: {},
      afterRestore: async (_url, { keepSessions }) => void sessions.push(keepSessions),
    },
  })
  const [from, to] = [await engine.freshUrl(t), await engine.freshUrl(t)]
  const { db, close } = await openDatabase<Tables>(from, [NOTES])
  const rows = [
    { id: 1, text: 'one' },
    { id: 2, text: null },
  ]
  await db.insertInto('notes').values(rows).execute()
  await close()
  const { file } = await saveBackup([serviceAt(from)], { folder, clock })
  const target = serviceAt(to)
  const restore = (input: Readable = createReadStream(file), service = target) =>
    restoreBackup(input, async () => [service], { clock })
  return { folder, file, target, to, rows, sessions, restore }
}

async function notesAt(url: string) {
  const { db, close } = await openDatabase<Tables>(url, [NOTES])
  return db.selectFrom('notes').selectAll().orderBy('id').execute().finally(close)
}

for (const engine of engines)
  describe(`rows restored to ${engine.name}`, engine.options, () => {
    test('are those of the archive, and users have to sign in again', async (t) => {
      const { restore, to, rows, sessions } = await backedUp(t, engine)

      const { leftOut, setAside } = await restore()

      assert.deepEqual([leftOut, setAside, sessions], [[], [], [false]])
      assert.deepEqual(await notesAt(to), rows)
    })

    test('do not go over data that is there', async (t) => {
      const { restore, to, rows } = await backedUp(t, engine)
      const { db, close } = await openDatabase<Tables>(to, [NOTES])
      await db.insertInto('notes').values({ id: 7, text: 'mine' }).execute()
      await close()

      await assert.rejects(restore(), { reason: 'refused', message: /^There is data already in / })

      assert.notDeepEqual(await notesAt(to), rows)
    })
  })

type Member = { name: string; text: string }
type Content = { manifest: Manifest; members: Member[] }

async function contentOf(file: string): Promise<Content> {
  const members: Member[] = []
  const tar = Readable.from([zstdDecompressSync(readFileSync(file))]).pipe(extract())
  for await (const entry of tar)
    members.push({ name: entry.header.name, text: String(await buffer(entry)) })
  const [manifest, ...rest] = members
  return { manifest: JSON.parse(manifest?.text ?? ''), members: rest.slice(0, -1) }
}

/** An archive with any content whose digest is right. */
async function archiveOf({ manifest, members }: Content): Promise<Readable> {
  const { PassThrough } = await import('node:stream')
  const output = new PassThrough()
  const written = buffer(output)
  const writer = await openArchiveWriter(output, manifest)
  for (const { name, text } of members) await writer.text(name, text)
  await writer.finish()
  return Readable.from([await written])
}

const ROWS = 'db/notes/notes/000001.ndjson'

test('an archive with a right digest and wrong content is refused, and leaves no database', async (t) => {
  const { file, restore, to } = await backedUp(t, sqlite)
  const content = await contentOf(file)
  const withRows = (text: string): Content => ({
    ...content,
    members: content.members.map((one) => (one.name === ROWS ? { ...one, text } : one)),
  })
  const withMember = (member: Member): Content => ({
    ...content,
    members: [...content.members, member],
  })
  const changed = (change: (manifest: Manifest) => void): Content => {
    const manifest = structuredClone(content.manifest)
    change(manifest)
    return { ...content, manifest }
  }
  const inDatabase = (manifest: Manifest) => {
    const database = manifest.services.notes?.database
    assert.ok(database)
    return database
  }
  const wrong: Record<string, Content> = {
    'more rows of notes than it says': withRows('[1,"a"]\n[2,"b"]\n[3,"c"]\n'),
    'notes should have 2 rows but has 1': withRows('[1,"a"]\n'),
    'a row of notes does not have its columns': withRows('[1]\n[2]\n'),
    'a row is not one': withRows('[1,{"a":1}]\n[2,null]\n'),
    'rows of an unknown table: others': withMember({
      name: 'db/notes/others/000001.ndjson',
      text: '[1]\n',
    }),
    'an unknown member "elsewhere/a"': withMember({ name: 'elsewhere/a', text: '' }),
    'no fingerprint of the NOTES_MASTER_KEY': changed((manifest) => {
      if (manifest.services.notes) manifest.services.notes.keyFingerprints = {}
    }),
    'needs the NOTES_MASTER_KEY it was made with .*, and the one given has': changed((manifest) => {
      if (manifest.services.notes)
        manifest.services.notes.keyFingerprints = { NOTES_MASTER_KEY: '0123456789abcdef' }
    }),
    'needs the NOTES_OTHER_KEY it was made with .*, and none is given': changed((manifest) => {
      Object.assign(manifest.services.notes?.keyFingerprints ?? {}, { NOTES_OTHER_KEY: 'abc' })
    }),
    'is older \\(it does not know "test-0002-later"\\)': changed((manifest) => {
      inDatabase(manifest).migrations.push({ name: 'test-0002-later', version: '9.0.0' })
    }),
    'The schema differs from what its migrations create: notes \\(id\\)': changed((manifest) => {
      for (const table of inDatabase(manifest).tables)
        if (table.name === 'notes') table.columns = ['id']
    }),
  }

  for (const [why, forged] of Object.entries(wrong)) {
    await assert.rejects(restore(await archiveOf(forged)), new RegExp(why), why)
    assert.equal(existsSync(to.slice('sqlite:'.length)), false, why)
  }
  await restore(await archiveOf(content))
  assert.equal((await notesAt(to)).length, 2)
})

test('what belongs to a service that does not run here is left out', async (t) => {
  const { file, restore, target, to } = await backedUp(t, sqlite)
  const content = await contentOf(file)
  const { notes } = content.manifest.services
  assert.ok(notes)
  const manifest = { ...content.manifest, services: { notes, other: { ...notes, files: true } } }
  const members = [...content.members, { name: 'files/other/a', text: 'a' }]

  const { leftOut } = await restore(await archiveOf({ manifest, members }), target)

  assert.deepEqual(leftOut, ['other'])
  assert.equal((await notesAt(to)).length, 2)
})
