import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openFiles } from '../../../testing/open-files.ts'
import { createTemporaryFile } from '../disk.ts'
import { BLOCK_BYTES, giveBack, takeBlock } from './blocks.ts'
import { CACHED_BYTES, DirectWriter } from './direct-writer.ts'
import { Spool } from './spool.ts'

function testFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-direct-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function openFile(t: TestContext) {
  const path = join(testFolder(t), 'file')
  const descriptor = await createTemporaryFile(path)
  t.after(() => closeSync(descriptor))
  return { path, descriptor }
}

const openedDirectly = (path: string) =>
  openFiles().some((file) => file.path === path && (file.flags & constants.O_DIRECT) !== 0)

/** Why this machine cannot show it, if it cannot. */
function notHere(): string | false {
  if (process.platform !== 'linux') return 'only Linux shows how a file was opened'
  const folder = mkdtempSync(join(tmpdir(), 'plinth-direct-'))
  const { O_CREAT, O_WRONLY, O_DIRECT } = constants
  try {
    closeSync(openSync(join(folder, 'file'), O_CREAT | O_WRONLY | O_DIRECT))
    return false
  } catch {
    return 'the file system of the temporary folder has no O_DIRECT'
  } finally {
    rmSync(folder, { recursive: true })
  }
}
const skip = notHere()

/** 24 MiB, so that a third of it is past what is cached. */
async function fill(spool: Spool): Promise<void> {
  for (let count = 0; count < 24; count += 1) await spool.write(Buffer.alloc(2 ** 20, 'plinth '))
}

test('a large file goes past the cache, and given up leaves neither name nor descriptor', {
  skip,
}, async (t) => {
  const folder = testFolder(t)
  const spool = new Spool(folder, { sha256: true })

  await fill(spool)
  await spool.finish()
  assert.ok(openedDirectly(spool.path))
  await spool[Symbol.asyncDispose]()

  assert.ok(!openFiles().some(({ path }) => path.startsWith(folder)))
  assert.deepEqual(readdirSync(folder), [])
})

test('so does one that came when many others were on their way', { skip }, async (t) => {
  const folder = testFolder(t)
  const others = Array.from({ length: 10 }, () => new Spool(folder, { sha256: false }))
  await using spool = new Spool(folder, { sha256: false })
  for (const other of others) await other[Symbol.asyncDispose]()

  await fill(spool)
  await spool.finish()

  assert.ok(openedDirectly(spool.path))
})

for (const [what, wanted, position] of [
  ['the beginning of a file stays in the cache', true, 0],
  ['a file that is only passed on stays in the cache', false, CACHED_BYTES],
] as const)
  test(what, { skip }, async (t) => {
    const { path, descriptor } = await openFile(t)
    const writer = new DirectWriter(path, descriptor, wanted)
    const block = await takeBlock()

    await writer.write(block.bytes, position)
    giveBack(block)

    assert.ok(!openedDirectly(path))
  })

test('a file system that refuses the first write gets the bytes as usual', async (t) => {
  const { path, descriptor } = await openFile(t)
  const writer = new DirectWriter(path, descriptor, true)
  // Memory that begins anywhere is refused, as everything is by such a file system.
  const bytes = randomBytes(BLOCK_BYTES + 1).subarray(1)

  await writer.write(bytes, CACHED_BYTES)
  assert.ok(skip || openedDirectly(path))
  await writer.write(bytes, CACHED_BYTES + BLOCK_BYTES)
  await writer.close()

  const content = readFileSync(path).subarray(CACHED_BYTES)
  assert.ok(content.equals(Buffer.concat([bytes, bytes])))
})

test('a file that cannot be opened a second time gets the bytes as usual', async (t) => {
  const { path, descriptor } = await openFile(t)
  const writer = new DirectWriter(`${path}-elsewhere`, descriptor, true)
  const block = await takeBlock()
  block.bytes.fill('x')

  await writer.write(block.bytes, CACHED_BYTES)
  giveBack(block)
  await writer.close()

  assert.ok(readFileSync(path).subarray(CACHED_BYTES).equals(Buffer.alloc(BLOCK_BYTES, 'x')))
})
