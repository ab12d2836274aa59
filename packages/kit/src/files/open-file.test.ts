import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { openFiles } from '../../testing/open-files.ts'
import { entityTag, openRegularFile, readRange, readSmallFile } from './open-file.ts'

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-open-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a regular file is read from the descriptor that was checked', async (t) => {
  const path = join(temporaryFolder(t), 'x')
  writeFileSync(path, '0123456789')
  const file = await openRegularFile(path)
  assert.ok(file)
  rmSync(path)
  writeFileSync(path, 'another one')

  assert.equal((await buffer(readRange(file, 2, 4))).toString(), '234')
})

test('the entity tag changes with the content', async (t) => {
  const path = join(temporaryFolder(t), 'x')
  const tags = new Set<string>()
  for (const content of ['a', 'b', 'ab']) {
    writeFileSync(path, content)
    const file = await openRegularFile(path)
    assert.ok(file)
    tags.add(entityTag(file.stats))
    await file.handle.close()
  }

  assert.ok(tags.size >= 2)
})

test('links, folders, FIFOs, sockets, devices and absent names are not files', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'file'), 'x')
  mkdirSync(join(folder, 'folder'))
  symlinkSync('file', join(folder, 'link'))
  symlinkSync('nowhere', join(folder, 'dangling'))
  execFileSync('mkfifo', [join(folder, 'fifo')])
  const socket = createServer().listen(join(folder, 'socket'))
  t.after(() => socket.close())

  for (const name of ['folder', 'link', 'dangling', 'fifo', 'socket', 'absent', 'file/x'])
    for (const open of [openRegularFile, readSmallFile])
      assert.equal(await open(join(folder, name)), undefined, name)
  for (const open of [openRegularFile, readSmallFile])
    assert.equal(await open('/dev/null'), undefined)
})

test('a small range is read at once, a large one is not, and no descriptor stays open', async (t) => {
  const path = join(temporaryFolder(t), 'x')
  writeFileSync(path, Buffer.alloc(100_000, '0123456789'))

  const small = [
    await readSmallFile(path, { start: 99_998, end: 99_999 }),
    await readSmallFile(path, { start: 99_998, end: 100_005 }),
  ]
  const large = [await readSmallFile(path), await readSmallFile(path, { start: 0, end: 65_536 })]

  assert.deepEqual(small.map(String), ['89', '89'])
  assert.deepEqual(large, ['large', 'large'])
  assert.equal((await readSmallFile(path, { start: 0, end: 65_535 }))?.length, 65_536)
  assert.ok(!openFiles().includes(path))
})

test('a path that cannot be opened is an error, not an absent file', async () => {
  await assert.rejects(openRegularFile(join('/', 'x'.repeat(300))), { code: 'ENAMETOOLONG' })
})
