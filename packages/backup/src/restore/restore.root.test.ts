import assert from 'node:assert/strict'
import {
  chownSync,
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Migration, openDatabase } from '@plinth/kit/database'
import { asRoot } from '@plinth/kit/testing'
import { saveBackup } from '../kept/save.ts'
import { openFiles } from '../sources/folder.ts'
import type { ServiceData } from '../sources/service-data.ts'
import { restoreBackup } from './restore.ts'

const clock = () => new Date('2026-11-16T02:00:00.000Z')
const ASIDE = '.before-restore-20261116T020000000Z'

/** Two services with two files each that have changed since the archive was made. */
async function changedSince(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-replace-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const services = ['one', 'two'].map((name): ServiceData => {
    return { name, keys: {}, root: join(folder, name) }
  })
  const write = (text: string) => {
    for (const { root } of services)
      for (const name of ['a', 'b']) writeFileSync(join(root as string, name), text)
  }
  for (const { root } of services) mkdirSync(root as string)
  write('then')
  const { file } = await saveBackup(services, { folder: join(folder, 'backups'), clock })
  write('now')
  const replace = (given = services) =>
    restoreBackup(createReadStream(file), async () => given, { clock, replace: true })
  const contents = (name: string) =>
    readdirSync(join(folder, name), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.name} ${readFileSync(join(folder, name, entry.name), 'utf8')}`)
  return { folder, services, replace, contents }
}

test('a file that cannot be moved aside leaves all files where they were', async (t) => {
  const { folder, replace, contents } = await changedSince(t)
  mkdirSync(join(folder, 'two', ASIDE, 'b'), { recursive: true })

  await assert.rejects(replace(), { code: 'EISDIR' })

  assert.deepEqual(
    [contents('one'), contents('two')],
    [
      ['a now', 'b now'],
      ['a now', 'b now'],
    ],
  )
  rmSync(join(folder, 'two', ASIDE), { recursive: true })
  await replace()
  assert.deepEqual(
    [contents('one'), contents('two')],
    [
      ['a then', 'b then'],
      ['a then', 'b then'],
    ],
  )
})

test('a failed undo reports the place and the cause, and restores the others', async (t) => {
  const { folder, services, replace, contents } = await changedSince(t)
  const [one, two] = services as [ServiceData, ServiceData]
  const files = async () => {
    const stored = await openFiles(one, 'restore')
    assert.ok(stored)
    const put = async () => {
      rmSync(join(folder, 'one', ASIDE), { recursive: true })
      throw new Error('The file cannot be kept.')
    }
    return { ...stored, put }
  }

  await assert.rejects(replace([{ ...one, files }, two]), {
    message: /^The file cannot be kept\. Not everything could be put back: .*one, which is in /,
  })
  assert.deepEqual(contents('two'), ['a now', 'b now'])
})

test('files that root restores belong to the owner of the folder', asRoot, async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'plinth-restored-'))
  const backups = mkdtempSync(join(tmpdir(), 'plinth-archives-'))
  t.after(() => [data, backups].forEach((folder) => void rmSync(folder, { recursive: true })))
  const [url, root] = [`sqlite:${join(data, 'one.db')}`, join(data, 'one')]
  const database = { url, setting: 'ONE_DATABASE_URL', migrations: [NOTES], sealed: {} }
  const service: ServiceData = { name: 'one', keys: {}, root, database }
  await (await openDatabase(url, [NOTES])).close()
  mkdirSync(root)
  writeFileSync(join(root, 'a'), 'then')
  const { file } = await saveBackup([service], { folder: backups, clock })
  chownSync(data, 1234, 1235)

  const restore = (replace: boolean) =>
    restoreBackup(createReadStream(file), async () => [service], { clock, replace })
  rmSync(root, { recursive: true })
  rmSync(join(data, 'one.db'))
  await restore(false)
  await restore(true)

  const made = readdirSync(data, { recursive: true, encoding: 'utf8' })
  assert.deepEqual(made.filter((name) => !name.includes('.before-restore')).sort(), [
    'one',
    'one.db',
    'one/a',
  ])
  for (const name of made) {
    const { uid, gid } = statSync(join(data, name))
    assert.deepEqual([uid, gid], [1234, 1235], name)
  }
})

test(
  'files that root restores are out of reach until they belong to the owner of the folder',
  asRoot,
  async (t) => {
    const { folder, services, replace, contents } = await changedSince(t)
    const [one, two] = services as [ServiceData, ServiceData]
    const [root, elsewhere] = [one.root as string, join(folder, 'elsewhere')]
    mkdirSync(elsewhere)
    writeFileSync(join(elsewhere, 'a'), 'not theirs')
    chownSync(root, 1234, 1235)
    symlinkSync(join(elsewhere, 'a'), join(root, '.restore_in_progress'))
    await assert.rejects(replace(), { code: 'ELOOP' })
    const reachable: string[] = []
    // What the service's user could do to make root write to files elsewhere and give them away.
    const replaceFolders = () => {
      for (const entry of readdirSync(root, { withFileTypes: true })) {
        if (entry.isFile() && entry.name !== '.restore_in_progress') reachable.push(entry.name)
        if (!entry.isDirectory() || entry.name === ASIDE) continue
        const { uid, mode } = statSync(join(root, entry.name))
        if (uid !== 0 || (mode & 0o077) !== 0) reachable.push(entry.name)
        renameSync(join(root, entry.name), join(root, `${entry.name}-moved`))
        symlinkSync(elsewhere, join(root, entry.name))
      }
    }
    const files: ServiceData['files'] = async (mode, place) => {
      const stored = await openFiles({ root }, mode, place)
      assert.ok(stored)
      const put: typeof stored.put = async (...file) => {
        await stored.put(...file)
        replaceFolders()
      }
      return { ...stored, put }
    }

    await replace([{ ...one, files }, two])

    assert.deepEqual(reachable, [])
    assert.deepEqual(contents('one'), ['a then', 'b then'])
    assert.equal(statSync(join(root, 'a')).uid, 1234)
    assert.deepEqual(readdirSync(elsewhere), ['a'])
    assert.equal(statSync(join(elsewhere, 'a')).uid, 0)
    assert.equal(readFileSync(join(elsewhere, 'a'), 'utf8'), 'not theirs')
  },
)

const NOTES: Migration = {
  name: 'test-0001-notes',
  up: async (db) => {
    await db.schema.createTable('notes').addColumn('text', 'varchar(100)').execute()
  },
}
