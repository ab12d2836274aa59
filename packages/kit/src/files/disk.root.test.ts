import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { asRoot } from '../../testing/processes/as-root.ts'
import { armFailPoint } from '../runtime/fail-point.ts'
import { createTemporaryFile, publishFile, removeFile } from './disk.ts'

function temporaryFolder(t: TestContext, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'plinth-durable-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const WITHOUT_CHOWN = ['--bounding-set', '-chown']

function canDropCapability(): boolean {
  return process.getuid?.() === 0 && spawnSync('setpriv', [...WITHOUT_CHOWN, 'true']).status === 0
}

test('a temporary file is accessible to its owner only', async (t) => {
  const path = join(temporaryFolder(t), 'tmp')

  closeSync(await createTemporaryFile(path))

  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test(
  'a temporary file of root, and a folder made for it, belong to the owner of the folder',
  asRoot,
  async (t) => {
    const folder = temporaryFolder(t)
    chownSync(folder, 1234, 1235)

    closeSync(await createTemporaryFile(join(folder, 'incoming', 'tmp')))

    for (const path of ['incoming', 'incoming/tmp']) {
      const { uid, gid } = statSync(join(folder, path))
      assert.deepEqual([uid, gid], [1234, 1235], path)
    }
  },
)

test('where root may not give files away, as in some containers, they are created all the same', {
  ...asRoot,
  skip: asRoot.skip || (!canDropCapability() && 'needs setpriv'),
}, (t) => {
  const folder = temporaryFolder(t)
  chownSync(folder, 1234, 1235)
  chmodSync(folder, 0o777)
  const disk = new URL('./disk.ts', import.meta.url).href
  const script = `import { createTemporaryFile } from '${disk}'
    await createTemporaryFile('${join(folder, 'incoming', 'tmp')}')`
  const node = [process.execPath, '--input-type=module', '--eval', script]

  const { stderr } = spawnSync('setpriv', [...WITHOUT_CHOWN, ...node], { encoding: 'utf8' })

  assert.equal(stderr, '')
  assert.deepEqual(readdirSync(join(folder, 'incoming')), ['tmp'])
})

// On Linux /dev/shm is a separate file system in memory, and /var/tmp is on a disk.
const noOtherDisk =
  !['/var/tmp', '/dev/shm'].every(isWritable) && '/var/tmp and /dev/shm cannot both be written here'

test('publishing moves a file to another disk too', { skip: noOtherDisk }, async (t) => {
  const [here, there] = [temporaryFolder(t, '/var/tmp'), temporaryFolder(t, '/dev/shm')]
  assert.notEqual(statSync(here).dev, statSync(there).dev)
  writeFileSync(join(here, 'tmp'), 'x')

  await publishFile(join(here, 'tmp'), join(there, 'final'))

  assert.deepEqual([readdirSync(here), readdirSync(there)], [[], ['final']])
})

test('publishing moves a file to its final name', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'tmp'), 'x')

  await publishFile(join(folder, 'tmp'), join(folder, 'final'))

  assert.deepEqual(readdirSync(folder), ['final'])
})

test('publishing replaces a file of that name', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'final'), 'old')
  writeFileSync(join(folder, 'tmp'), 'new')

  await publishFile(join(folder, 'tmp'), join(folder, 'final'))

  assert.deepEqual(readdirSync(folder), ['final'])
  assert.equal(readFileSync(join(folder, 'final'), 'utf8'), 'new')
})

test('a name that cannot be made durable is removed again', async (t) => {
  const folder = temporaryFolder(t)
  t.after(() => armFailPoint({}))
  writeFileSync(join(folder, 'tmp'), 'x')
  armFailPoint({ NODE_ENV: 'test', FAIL_POINT: 'publish:named=EIO' })

  await assert.rejects(publishFile(join(folder, 'tmp'), join(folder, 'final')))

  assert.deepEqual(readdirSync(folder), [])
})

test('removing a file from a missing folder finds none', async (t) => {
  assert.equal(await removeFile(join(temporaryFolder(t), 'missing', 'x')), false)
})

test('one of two concurrent removals finds the file', async (t) => {
  const path = join(temporaryFolder(t), 'x')
  writeFileSync(path, '')

  const removed = await Promise.all([removeFile(path), removeFile(path)])

  assert.deepEqual(removed.sort(), [false, true])
})

test('many files can be published at once', async (t) => {
  const folder = temporaryFolder(t)
  const names = Array.from({ length: 50 }, (_, at) => `f${at}`)
  for (const name of names) writeFileSync(join(folder, `${name}.tmp`), name)

  await Promise.all(
    names.map((name) => publishFile(join(folder, `${name}.tmp`), join(folder, name))),
  )

  assert.deepEqual(readdirSync(folder).sort(), names.sort())
})

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
