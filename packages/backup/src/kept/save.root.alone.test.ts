import assert from 'node:assert/strict'
import {
  chownSync,
  createReadStream,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { systemClock } from '@plinth/kit/runtime'
import { asRoot } from '@plinth/kit/testing'
import { openArchive, type Show } from '../archive/read.ts'
import { restoreBackup } from '../restore/restore.ts'
import type { ServiceData, StoredFiles } from '../sources/service-data.ts'
import { recordSuccess } from './record.ts'
import { saveBackup } from './save.ts'

const MEGABYTE = 2 ** 20
const SMALL = 32 * MEGABYTE
const LARGE = 256 * MEGABYTE
const MAX_GROWTH = 96 * MEGABYTE

/** A service with two generated files that are not on disk. */
function serviceOf(taken: Map<string, number>, fileBytes: number): ServiceData {
  const files: StoredFiles = {
    hold: async () => {},
    async *list() {
      for (const name of ['one', 'two']) yield { name, size: fileBytes }
    },
    open: async () => Readable.from(chunks(fileBytes)),
    async put({ name }, bytes) {
      let size = 0
      for await (const chunk of bytes) size += chunk.length
      taken.set(name, size)
    },
    async *check() {},
    close: async () => {},
  }
  return { name: 'large', keys: {}, files: async () => files }
}

function* chunks(bytes: number) {
  const chunk = Buffer.alloc(MEGABYTE / 4, 'plinth')
  for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk
}

test('backs up and restores half a gigabyte in constant memory', { tags: ['all'] }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-large-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const mostMemoryFor = async (fileBytes: number) => {
    const taken = new Map<string, number>()
    const service = serviceOf(taken, fileBytes)
    const { file } = await saveBackup([service], {
      folder,
      clock: systemClock,
      freeBytes: async () => Infinity,
    })
    await restoreBackup(createReadStream(file), async () => [service], { clock: systemClock })
    assert.deepEqual(Object.fromEntries(taken), { one: fileBytes, two: fileBytes })
    return process.resourceUsage().maxRSS * 1024
  }

  const small = await mostMemoryFor(SMALL)
  const growth = (await mostMemoryFor(LARGE)) - small

  t.diagnostic(`memory grew by ${Math.round(growth / MEGABYTE)} MB`)
  assert.ok(growth < MAX_GROWTH, `${growth}`)
})

test('refuses to start unless a fifth more than the size of the data is free', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-room-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const service = serviceOf(new Map(), 10 * MEGABYTE)
  const saved = (free: number) =>
    saveBackup([service], { folder, clock: systemClock, freeBytes: async () => free })

  await assert.rejects(saved(24 * MEGABYTE - 1), {
    reason: 'cannot-create',
    message: `The backup may take 24 MB, and ${folder} has 24 MB left.`,
  })
  const left = readdirSync(folder).filter((name) => name.startsWith('plinth-'))
  assert.deepEqual(left, [])
  await saved(24 * MEGABYTE)
})

test('removes what a killed backup left, and overwrites no file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-parts-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [left, other] = ['plinth-20261116T020000Z-2.0.0.tar.zst.part', 'holiday.tar.zst.part']
  for (const name of [left, other, 'named.tar.zst']) writeFileSync(join(folder, name), 'before')
  const service = serviceOf(new Map(), MEGABYTE)
  const file = join(folder, 'named.tar.zst')

  await assert.rejects(saveBackup([service], { folder, file, clock: systemClock }), {
    reason: 'cannot-create',
    message: `${file} is already there; nothing was changed.`,
  })

  assert.equal(readFileSync(file, 'utf8'), 'before')
  const parts = readdirSync(folder).filter((name) => name.endsWith('.part'))
  assert.deepEqual(parts, [other])
})

test('files that root creates belong to the owner of the folder', asRoot, async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'plinth-owner-'))
  t.after(() => rmSync(data, { recursive: true }))
  chownSync(data, 1234, 1235)
  const folder = join(data, 'backups')

  await saveBackup([serviceOf(new Map(), MEGABYTE)], { folder, clock: systemClock })

  const record = join(data, 'last-backup.json')
  const succeeded = { at: '', file: '', bytes: 1, seconds: 1, verified: true, services: [] }
  await recordSuccess(record, succeeded)

  const made = [record, folder, ...readdirSync(folder).map((name) => join(folder, name))]
  assert.equal(made.length, 4)
  for (const path of made) {
    const { uid, gid } = statSync(path)
    assert.deepEqual([uid, gid], [1234, 1235], path)
  }
})

test('reports progress: files written, and bytes of the archive read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-shown-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const service = serviceOf(new Map(), MEGABYTE)
  const shown: [label: string, done: number, total?: number][] = []
  const show: Show = (...line) => void shown.push(line)

  const { file, bytes } = await saveBackup([service], { folder, clock: systemClock, show })
  await restoreBackup(await openArchive(file, show), async () => [service], { clock: systemClock })

  assert.deepEqual(shown.slice(0, 2), [
    ['files', 1, 2],
    ['files', 2, 2],
  ])
  assert.deepEqual(shown.at(-1), ['bytes of the archive', bytes, bytes])
})
