import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import { openFiles } from '../../../testing/open-files.ts'
import { Spool } from './spool.ts'

test('bytes that arrive one by one and then in bulk are all stored, in order', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const content = randomBytes(5 * 2 ** 20)
  await using spool = new Spool(folder, { sha256: true })

  for (let at = 0; at < 10_000; at += 1) await spool.write(Buffer.from([content[at] ?? 0]))
  await spool.write(content.subarray(10_000))
  await spool.finish()

  assert.equal(spool.sha256, hash('sha256', content))
  assert.ok(readFileSync(spool.path).equals(content))
})

test('a file goes to disk once it reaches the 256 KiB of a batch', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const filesAfter = async (bytes: number) => {
    await using spool = new Spool(folder, { sha256: false })
    await spool.write(Buffer.alloc(bytes))
    await spool.finish()
    return readdirSync(folder).length
  }

  const counts = [await filesAfter(256 * 1024 - 1), await filesAfter(256 * 1024)]

  assert.deepEqual(counts, [0, 1])
})

test('many files are stored at once although one is abandoned', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const content = randomBytes(5 * 2 ** 20 + 1)
  const store = async (spool: Spool) => {
    for (let at = 0; at < content.length; at += 60_000)
      await spool.write(Buffer.from(content.subarray(at, at + 60_000)))
    await spool.finish()
  }
  const [abandoned, ...kept] = Array.from({ length: 12 }, () => new Spool(folder, { sha256: true }))

  abandoned?.write(Buffer.from(content.subarray(0, 3 * 2 ** 20)))
  await Promise.all([abandoned?.[Symbol.asyncDispose](), ...kept.map(store)])

  for (const spool of kept) {
    assert.equal(spool.sha256, hash('sha256', content))
    assert.ok(readFileSync(spool.path).equals(content))
    await spool[Symbol.asyncDispose]()
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('an abandoned large file leaves neither a name nor a descriptor', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const spool = new Spool(folder, { sha256: true })
  for (let count = 0; count < 4; count += 1) await spool.write(Buffer.alloc(2 ** 20, 'plinth '))
  await spool.finish()
  const opened = () => openFiles().filter((path) => path.startsWith(folder)).length
  assert.ok(process.platform !== 'linux' || opened() === 1)

  await spool[Symbol.asyncDispose]()

  assert.equal(opened(), 0)
  assert.deepEqual(readdirSync(folder), [])
})

test('thousands of single bytes are joined into fewer pieces', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await using spool = new Spool(folder, { sha256: true })
  const pieces = Array.from({ length: 5000 }, (_, count) =>
    Buffer.allocUnsafeSlow(1).fill(65 + (count % 26)),
  )
  const text = Buffer.concat(pieces).toString()

  for (const piece of pieces) spool.write(piece)

  assert.ok(pieces.filter(({ length }) => length > 0).length < 1024) // The others were joined.
  await spool.finish()
  assert.equal((await (await spool.bytes()).read(0, 5000)).toString(), text)
  assert.equal(spool.sha256, hash('sha256', text))
})

test('the memory of written bytes is freed at once unless it is shared', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [alone, shared] = [Buffer.alloc(300_000, 'a'), Buffer.alloc(100_000, 'b')]
  await using spool = new Spool(folder, { sha256: false })

  spool.write(alone)
  spool.write(shared.subarray(0, 10))
  await spool.finish()

  assert.equal(alone.length, 0)
  assert.equal(shared.length, 100_000)
  assert.ok(readFileSync(spool.path).equals(Buffer.from('a'.repeat(300_000) + 'b'.repeat(10))))
})

test('uploads that find their folder missing at the same time share a new one', async (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const folder = join(parent, 'gone')

  const spools = Array.from({ length: 20 }, () => new Spool(folder, { sha256: true, onDisk: true }))
  for (const spool of spools) spool.write(Buffer.from('x'))
  await Promise.all(spools.map((spool) => spool.finish()))

  assert.equal(readdirSync(folder).length, 20)
  await Promise.all(spools.map((spool) => spool[Symbol.asyncDispose]()))
  assert.deepEqual(readdirSync(folder), [])
})

test('a small file stays in memory until it is published', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await using spool = new Spool(folder, { sha256: true })

  spool.write(Buffer.from('hello '))
  spool.write(Buffer.from('world'))
  await spool.finish()

  assert.deepEqual(readdirSync(folder), [])
  assert.equal(spool.sha256, hash('sha256', 'hello world'))
  assert.equal(await text(await spool.read()), 'hello world')
  assert.equal((await (await spool.bytes()).read(6, 100)).toString(), 'world')
  await spool.publish(join(folder, 'published'))
  assert.deepEqual(readdirSync(folder), ['published'])
  assert.equal(readFileSync(join(folder, 'published'), 'utf8'), 'hello world')
})

test('a large file is read, examined and published from its temporary file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const content = randomBytes(40 * 2 ** 20)
  await using spool = new Spool(folder, { sha256: true })

  for (let at = 0; at < content.length; at += 60_000)
    await spool.write(Buffer.from(content.subarray(at, at + 60_000)))
  await spool.finish()

  assert.deepEqual(readdirSync(folder), [basename(spool.path)])
  assert.equal(spool.sha256, hash('sha256', content))
  assert.ok((await buffer(await spool.read())).equals(content))
  assert.deepEqual(await (await spool.bytes()).read(-10, 80), content.subarray(0, 70))
  await spool.publish(join(folder, 'published'))
  assert.deepEqual(readdirSync(folder), ['published'])
  assert.ok(readFileSync(join(folder, 'published')).equals(content))
})
