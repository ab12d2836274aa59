import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { armFailPoint } from '../runtime/fail-point.ts'
import { publishFile, removeFile } from './disk.ts'

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-durable-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

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

test('of two removals one finds the file', async (t) => {
  const path = join(temporaryFolder(t), 'x')
  writeFileSync(path, '')

  const removed = await Promise.all([removeFile(path), removeFile(path)])

  assert.deepEqual(removed.sort(), [false, true])
})

test('many publications at once all arrive', async (t) => {
  const folder = temporaryFolder(t)
  const names = Array.from({ length: 50 }, (_, at) => `f${at}`)
  for (const name of names) writeFileSync(join(folder, `${name}.tmp`), name)

  await Promise.all(
    names.map((name) => publishFile(join(folder, `${name}.tmp`), join(folder, name))),
  )

  assert.deepEqual(readdirSync(folder).sort(), names.sort())
})
