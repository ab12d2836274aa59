import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSpool } from './spool.ts'

test('bytes that come one by one go to disk before they pile up', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const spool = await openSpool(folder, { sha256: false })
  let waits = 0

  for (let count = 0; count < 10_000; count += 1) {
    const written = spool.write(Buffer.from([count % 251]))
    if (written) waits += 1
    await written
  }
  await spool.finish()

  assert.equal(waits, 9)
  assert.deepEqual(
    readFileSync(spool.path),
    Buffer.from(Array.from({ length: 10_000 }, (_, at) => at % 251)),
  )
  await spool.discard()
})

test('uploads that find their folder gone at the same time share the new one', async (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'plinth-spool-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const folder = join(parent, 'gone')

  const opened = Array.from({ length: 20 }, () => openSpool(folder, { sha256: false }))
  const spools = await Promise.all(opened)

  assert.equal(readdirSync(folder).length, 20)
  await Promise.all(spools.map((spool) => spool.discard()))
})
