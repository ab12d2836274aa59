import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { openSqlite } from '../database/sqlite/file.ts'
import { StartError } from '../problems.ts'
import { generatedKey, withoutSavingKeys } from './data-folder.ts'

const users: Record<string, (file: string) => unknown> = {
  'a SQLite file': (file) => openSqlite(file).close(),
  'a generated key': generatedKey,
}

for (const [name, use] of Object.entries(users))
  describe(`the folder of ${name}`, { skip: process.platform === 'win32' }, () => {
    test('is accessible to its owner only when we create it', (t) => {
      const file = join(folderFor(t), 'data', 'inner', 'file')

      use(file)

      for (const folder of [dirname(file), dirname(dirname(file))])
        assert.equal(statSync(folder).mode & 0o777, 0o700)
    })

    test('keeps its mode when it exists already', (t) => {
      const folder = join(folderFor(t), 'data')
      mkdirSync(folder)
      chmodSync(folder, 0o755)

      use(join(folder, 'file'))

      assert.equal(statSync(folder).mode & 0o777, 0o755)
    })

    test('is named with its setting when it cannot be created', (t) => {
      const file = join(folderFor(t), 'file')
      writeFileSync(file, '')

      assert.throws(() => use(join(file, 'data', 'x')), isAboutSuiteData)
    })

    test('is named with its setting when it is not writable', (t) => {
      const folder = folderFor(t)
      chmodSync(folder, 0o555)

      assert.throws(() => withoutPrivileges(() => use(join(folder, 'x'))), isAboutSuiteData)
    })
  })

test('without saving keys, a missing key is generated once and no file is created', async (t) => {
  const folder = folderFor(t)
  const saved = generatedKey(join(folder, 'saved.key'))
  const files = ['saved.key', 'new.key', 'new.key', 'deep/new.key']

  const { result, unsaved } = await withoutSavingKeys(async () =>
    files.map((file) => generatedKey(join(folder, file))),
  )

  const [known, first, second, other] = result
  assert.deepEqual(known, saved)
  assert.deepEqual(first, second)
  assert.deepEqual(unsaved, [first, other])
  assert.deepEqual(readdirSync(folder), ['saved.key'])
})

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-data-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

function isAboutSuiteData(error: Error): boolean {
  assert.ok(error instanceof StartError)
  assert.match(error.message, /^The folder .* cannot be used: .* Choose another with SUITE_DATA/)
  return true
}

/** The superuser bypasses file permissions, and tests may run as root. */
function withoutPrivileges(work: () => void): void {
  const isSuperuser = process.getuid?.() === 0
  if (isSuperuser) process.seteuid?.(65534)
  try {
    work()
  } finally {
    if (isSuperuser) process.seteuid?.(0)
  }
}
