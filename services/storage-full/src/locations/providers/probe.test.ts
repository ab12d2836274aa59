import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createLocalProvider } from './local.ts'
import { probeObject } from './probe.ts'

test('a probe that reads back different bytes leaves no object behind', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'probe-'))
  t.after(() => rm(root, { recursive: true }))
  await mkdir(join(root, 'files'))
  const provider = createLocalProvider({ root, path: 'files', spoolFolder: root })
  const damaging = { ...provider, open: async () => Readable.from([Buffer.from('other')]) }
  const object = probeObject(damaging, { spoolFolder: root })

  await object.write()
  const written = await readdir(join(root, 'files'))
  await assert.rejects(object.readBack(), /different bytes/)

  assert.equal(written.length, 1)
  assert.deepEqual(await readdir(join(root, 'files')), [])
})
