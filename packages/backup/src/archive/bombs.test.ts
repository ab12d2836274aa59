import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { constants, createZstdCompress } from 'node:zlib'
import type { Migration } from '@plinth/kit/database'
import { sqlite } from '@plinth/kit/testing'
import { restoreBackup } from '../restore/restore.ts'
import type { ServiceData } from '../sources/service-data.ts'
import { requireFlat } from './bounds.ts'
import { readArchive } from './read.ts'

const MEGABYTE = 2 ** 20
const HUGE = 256 * MEGABYTE
/** Reading an intact archive takes a few dozen megabytes. */
const MAX_GROWTH = 120 * MEGABYTE
const SMALL_ARCHIVE = 200_000

const CREATE: Migration = {
  name: 'test-0001-notes',
  up: async (db) => {
    await db.schema.createTable('notes').addColumn('text', 'varchar(100)').execute()
  },
}
const NOTES = { name: 'notes', columns: ['text'], rows: 1 }
const MANIFEST = {
  format: 1,
  version: '1.0.0',
  createdAt: '2026-11-05T02:00:00.000Z',
  pausedMs: 1,
  bytes: 1000,
  services: {
    one: {
      keyFingerprints: {},
      database: { engine: 'sqlite', migrations: [{ name: CREATE.name }], tables: [NOTES] },
      files: false,
    },
  },
}

type Part = { name: string; type?: 'pax-header'; bytes: () => Iterable<Buffer>; size: number }

const text = (name: string, content: string): Part => {
  const bytes = Buffer.from(content)
  return { name, bytes: () => [bytes], size: bytes.length }
}

/** A member of which every byte is the same, so that it compresses to almost nothing. */
const repeated = (name: string, character: string, type?: 'pax-header'): Part => ({
  name,
  size: HUGE,
  ...(type && { type }),
  *bytes() {
    const chunk = Buffer.alloc(MEGABYTE, character)
    for (let sent = 0; sent < HUGE; sent += MEGABYTE) yield chunk
  },
})

/** Written by hand, because the tar writer makes no header as long as this. */
function* tarOf(parts: Part[]): Iterable<Buffer> {
  for (const { name, size, type, bytes } of parts) {
    yield headerOf(name, size, type === 'pax-header' ? 'x' : '0')
    yield* bytes()
    yield Buffer.alloc(-size & 511)
  }
  yield Buffer.alloc(1024)
}

function headerOf(name: string, size: number, flag: string): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write(`${size.toString(8).padStart(11, '0')} `, 124)
  header.write('        ', 148)
  header.write(flag, 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function archiveOf(parts: Part[], params: Record<number, number> = {}): Promise<Buffer> {
  return buffer(Readable.from(tarOf(parts)).pipe(createZstdCompress({ params })))
}

const manifest = text('manifest.json', JSON.stringify(MANIFEST))
const rowless = text('manifest.json', JSON.stringify(MANIFEST).replace('"rows":1', '"rows":0'))
const { bytes: _bytes, ...UNDECLARED } = MANIFEST
const undeclared = text('manifest.json', JSON.stringify(UNDECLARED).replace('"rows":1', '"rows":0'))

/** Restores as `verify` and `restore` do, into a service with one table. */
async function restore(archive: Buffer, url: string): Promise<unknown> {
  const database = { url, setting: 'ONE_DATABASE_URL', migrations: [CREATE], sealed: {} }
  const service: ServiceData = { name: 'one', keys: {}, database }
  return restoreBackup(Readable.from([archive]), async () => [service], {
    clock: () => new Date('2026-11-16T02:00:00.000Z'),
  })
}

describe('an archive of a few kilobytes that unpacks to hundreds of megabytes is refused early', () => {
  const bombs: Record<string, [Part[], RegExp]> = {
    'in its manifest': [[repeated('manifest.json', ' ')], /its manifest is larger than/],
    'in its last member': [[manifest, repeated('end.json', ' ')], /its end is larger than/],
    'in the header of a member': [
      [manifest, repeated('long', 'x', 'pax-header')],
      /a header is larger than/,
    ],
    'in one row': [
      [manifest, repeated('db/one/notes/000001.ndjson', ' ')],
      /a row of notes is larger than/,
    ],
    'in empty rows': [
      [manifest, repeated('db/one/notes/000001.ndjson', '\n')],
      /Unexpected end of JSON input/,
    ],
    'in files': [[rowless, repeated('files/one/zeros', '\0')], /it holds more than it says/],
    'in files, without saying how much it holds': [
      [undeclared, repeated('files/one/zeros', '\0')],
      /it holds more than 200 times its size/,
    ],
    'in the objects of one row': [
      [manifest, text('db/one/notes/000001.ndjson', `[${'{},'.repeat(5_000_000)}{}]\n`)],
      /a row is not one/,
    ],
    'in the values of one row': [
      [manifest, text('db/one/notes/000001.ndjson', `[${'"\\"[",1,'.repeat(1_600_000)}1]\n`)],
      /a row is not one/,
    ],
    'in more rows than it says': [
      [manifest, text('db/one/notes/000001.ndjson', '["a"]\n'.repeat(100_000))],
      /it has more rows of notes than it says/,
    ],
    'after its end': [
      [manifest, text('end.json', '{}'), repeated('more', '\0')],
      /there is data after its end/,
    ],
  }
  for (const [name, [parts, reason]] of Object.entries(bombs))
    test(name, async (t) => {
      const archive = await archiveOf(parts)
      assert.ok(archive.length < SMALL_ARCHIVE, `${archive.length}`)
      const url = await sqlite.freshUrl(t)
      globalThis.gc?.()
      const before = process.memoryUsage.rss()

      await assert.rejects(restore(archive, url), { reason: 'damaged', message: reason })

      const growth = process.memoryUsage.rss() - before
      assert.ok(growth < MAX_GROWTH, `${growth / MEGABYTE} MB more`)
    })
})

test('a large row of texts is accepted, whatever is in them', () => {
  const texts = ['[{},'.repeat(MEGABYTE), '"\\', '\\"\\\\', '', null, 1]

  assert.doesNotThrow(() => requireFlat(JSON.stringify(texts)))
  assert.throws(() => requireFlat(JSON.stringify([...texts, {}])), { reason: 'damaged' })
})

test('an archive that asks for a decompression window of 128 MB is refused', async () => {
  const params = { [constants.ZSTD_c_windowLog]: 27 }
  const archive = await archiveOf([manifest, text('end.json', '{}')], params)
  const nothing = async () => {}

  await assert.rejects(readArchive(Readable.from([archive]), nothing, nothing), {
    reason: 'damaged',
  })
})

test('a manifest that is not one is refused', async () => {
  const nothing = async () => {}
  for (const given of [
    null,
    [],
    { format: 1 },
    { ...MANIFEST, bytes: undefined },
    { ...MANIFEST, bytes: -1 },
    { ...MANIFEST, services: { one: null } },
    { ...MANIFEST, services: { one: { ...MANIFEST.services.one, keyFingerprints: [1] } } },
    { ...MANIFEST, services: { one: { ...MANIFEST.services.one, database: { tables: 1 } } } },
  ]) {
    const archive = await archiveOf([text('manifest.json', JSON.stringify(given))])
    await assert.rejects(
      readArchive(Readable.from([archive]), nothing, nothing),
      { reason: 'damaged' },
      JSON.stringify(given),
    )
  }
})
