import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Manifest } from './manifest.ts'
import { readArchive } from './read.ts'
import { openArchiveWriter } from './write.ts'

const PASSPHRASE = 'a passphrase for the archive'
const LARGE_BYTES = 512 * 2 ** 20

const MANIFEST: Manifest = {
  format: 1,
  version: '1.0.0',
  createdAt: '2026-11-05T02:00:00.000Z',
  pausedMs: 1,
  bytes: 2 ** 30,
  services: {},
}

async function archiveOf(
  members: Record<string, Buffer>,
  manifest = MANIFEST,
  passphrase?: string,
): Promise<Buffer> {
  const output = new PassThrough()
  const written = buffer(output)
  const writer = await openArchiveWriter(output, manifest, passphrase)
  for (const [name, bytes] of Object.entries(members))
    await writer.file(name, bytes.length, Readable.from([bytes]))
  await writer.finish()
  return written
}

test('members that the caller does not read still count towards the digest', async () => {
  const archive = await archiveOf({
    'files/a/1': randomBytes(5_000_000),
    'files/a/2': randomBytes(9),
  })
  const names: string[] = []

  await readArchive(
    Readable.from([archive]),
    async () => {},
    async ({ name }) => {
      names.push(name)
    },
  )

  assert.deepEqual(names, ['files/a/1', 'files/a/2'])
})

test('a large file is written and read in constant memory', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-archive-'))
  t.after(() => rm(folder, { recursive: true }))
  const large = await open(join(folder, 'large'), 'w')
  await large.truncate(LARGE_BYTES)
  await large.close()
  const through = new PassThrough()
  let [read, peak] = [0, 0]
  const reading = readArchive(
    through,
    async () => {},
    async ({ bytes }) => {
      for await (const chunk of bytes) {
        read += chunk.length
        peak = Math.max(peak, process.memoryUsage.rss())
      }
    },
  )
  const before = process.memoryUsage.rss()

  const writer = await openArchiveWriter(through, MANIFEST)
  await writer.file('files/a/large', LARGE_BYTES, createReadStream(join(folder, 'large')))
  await writer.finish()
  await reading

  assert.equal(read, LARGE_BYTES)
  assert.ok(peak - before < LARGE_BYTES / 4, `${(peak - before) / 2 ** 20} MB more`)
})

test('an output that fails ends the writing with its own error, at any member', async () => {
  const noSpace = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  const outputFor = (bytes: number) =>
    new Writable({
      highWaterMark: 1,
      write: (chunk, _encoding, done) => {
        bytes -= chunk.length
        setImmediate(done, bytes < 0 ? noSpace : undefined)
      },
    })
  const slow = async function* () {
    for (let count = 0; count < 500; count++) yield await nextTurn(randomBytes(1000))
  }
  const writeTo = async (output: Writable) => {
    const writer = await openArchiveWriter(output, MANIFEST)
    for (const name of ['files/a/1', 'files/a/2'])
      await writer.file(name, 500_000, Readable.from(slow()))
    await writer.finish()
  }

  for (const bytes of [0, 300_000, 600_000, 900_000])
    await assert.rejects(writeTo(outputFor(bytes)), noSpace, `${bytes}`)
})

test('a truncated archive is refused wherever it is cut', async () => {
  const archive = await archiveOf({ 'files/a/1': randomBytes(100_000) })
  const cut = (length: number) =>
    readArchive(
      Readable.from([archive.subarray(0, length)]),
      async () => {},
      async () => {},
    )

  for (const length of [0, 1, 100, 50_000, archive.length - 20, archive.length - 1])
    await assert.rejects(cut(length), /The archive is damaged or not one of ours/, `${length}`)
})

test('an archive with a changed bit is refused, unless the bit carries no information', async () => {
  const archive = await archiveOf({ 'db/a/t/000000.ndjson': Buffer.from('{"id":1}\n') })
  const read = async (bytes: Buffer) => {
    const found: unknown[] = []
    const manifest = await readArchive(
      Readable.from([bytes]),
      async () => {},
      async (member) => void found.push([member.name, String(await buffer(member.bytes))]),
    )
    return [manifest, ...found]
  }
  const whole = await read(archive)
  let refused = 0

  for (let bit = 0; bit < archive.length * 8; bit++) {
    const altered = Buffer.from(archive)
    altered[bit >> 3] = (altered[bit >> 3] as number) ^ (1 << (bit & 7))
    const outcome = await read(altered).catch((error: Error) => error)
    if (outcome instanceof Error) refused += 1
    if (outcome instanceof Error) assert.match(outcome.message, /^The archive /, `bit ${bit}`)
    else assert.deepEqual(outcome, whole, `bit ${bit}`)
  }

  assert.ok(refused > archive.length * 7, `${refused} of ${archive.length * 8} bits`)
})

test('an archive of another format is refused, and both versions are named', async () => {
  const archive = await archiveOf({}, { ...MANIFEST, format: 2, version: '9.8.7' })
  const reading = readArchive(
    Readable.from([archive]),
    async () => {},
    async () => {},
  )

  await assert.rejects(
    reading,
    /by Plinth 9\.8\.7 in format 2, but this is Plinth .*, which reads format 1/,
  )
})

describe('an encrypted archive', async () => {
  const file = randomBytes(150_000)
  const archive = await archiveOf({ 'files/a/1': file }, MANIFEST, PASSPHRASE)
  const read = async (bytes: Buffer, passphrase?: string) => {
    const found: Buffer[] = []
    await readArchive(
      Readable.from([bytes.subarray(0, 10), bytes.subarray(10)]),
      async () => {},
      async (member) => void found.push(await buffer(member.bytes)),
      passphrase,
    )
    return found
  }

  test('can be read only with its passphrase', async () => {
    assert.deepEqual(await read(archive, PASSPHRASE), [file])
    await assert.rejects(read(archive), /is encrypted: name the file .* BACKUP_PASSPHRASE_FILE/)
    await assert.rejects(read(archive, 'another passphrase'), /with another passphrase/)
  })

  test('is refused when it is truncated, even between two chunks, or altered', async () => {
    const chunk = 65_536 + 16
    for (const length of [32 + chunk, 32 + 2 * chunk, archive.length - 1])
      await assert.rejects(read(archive.subarray(0, length), PASSPHRASE), /damaged/, `${length}`)
    const altered = Buffer.from(archive)
    altered[100_000] = (altered[100_000] ?? 0) ^ 1
    await assert.rejects(read(altered, PASSPHRASE), /damaged/)
  })
})
