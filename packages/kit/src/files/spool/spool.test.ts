import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Spool } from './spool.ts'

test('bytes that come one by one and then in bulk are all there, in their order', async (t) => {
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

test('more files than there are blocks are stored at once, although one is given up', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const content = randomBytes(5 * 2 ** 20 + 1)
  const store = async (spool: Spool) => {
    for (let at = 0; at < content.length; at += 60_000)
      await spool.write(Buffer.from(content.subarray(at, at + 60_000)))
    await spool.finish()
  }
  const [givenUp, ...kept] = Array.from({ length: 12 }, () => new Spool(folder, { sha256: true }))

  givenUp?.write(Buffer.from(content.subarray(0, 3 * 2 ** 20)))
  await Promise.all([givenUp?.[Symbol.asyncDispose](), ...kept.map(store)])

  for (const spool of kept) {
    assert.equal(spool.sha256, hash('sha256', content))
    assert.ok(readFileSync(spool.path).equals(content))
    await spool[Symbol.asyncDispose]()
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('a piece that somebody else took away costs one file, and no block', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (let count = 0; count < 5; count += 1) {
    await using robbed = new Spool(folder, { sha256: true, onDisk: true })
    const piece = Buffer.allocUnsafeSlow(1000)
    robbed.write(piece)
    piece.buffer.transfer(0)
    await assert.rejects(robbed.finish(), TypeError)
  }
  await using spool = new Spool(folder, { sha256: true, onDisk: true })

  spool.write(Buffer.from('x'))
  await spool.finish()

  assert.equal(spool.sha256, hash('sha256', 'x'))
})

test('uploads that find their folder gone at the same time share the new one', async (t) => {
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

test('a small file is kept in memory, and touches the disk only under its name', async (t) => {
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

test('a large file is read, looked at and published from its temporary file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const content = randomBytes(40 * 2 ** 20) // enough to be written past the system's cache
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
