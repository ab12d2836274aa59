import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { extract, pack } from 'tar-stream'
import { type Manifest, memberOf } from './manifest.ts'
import { readArchive } from './read.ts'
import { openArchiveWriter } from './write.ts'

const MANIFEST: Manifest = {
  format: 1,
  version: '1.0.0',
  createdAt: '2026-11-05T02:00:00.000Z',
  pausedMs: 1,
  services: {},
}

/** What was encrypted once must stay readable: a change of the cost or the format would make it unreadable. */
const PASSPHRASE = 'a passphrase for the archive'
const ENCRYPTED =
  'cGxpbnRoLXNlYWxlZC0xCkL1XcGUzfQuDCKDFiWFRGjVv/wtTOfBUIpMx3IR2EroscVU2CPrDSfzbprNIGAkhnf8okHj0//iVfxA' +
  '8IVohgCrufPNgYWPf9/B63Ersbh9ok5awCfQqVEMKHNQwBxIuMuslH5kwHOUN436UWiXrye/14YMDLX8Rf2uY574GLLPlyiuPABe' +
  'Cx1sB33FwfajKozTVKwuFPsN8LGftkL4YHVGKjEgHFBQWkbWRk7ex2g3u0FP4uUFtw0xHyuSuNCZTa0P4z2YObFXImo3tNzssJ0S' +
  '5l3+gt9Y7PvAXhTkxMTe9/N8VPCPyS6HAjFnttdvnZLgqMlZygqPepsKAXFSzsU1ZQc6TGd4DzKTq4fDy8WMb07IJRrpxmbPZIp3' +
  'jkAI358Sm2hI1BcevqwN1fR/SKa72JVCxP8XqCIHFVAX4UhWNNkv9T45dEuaknRTHRrFRVwzy3UOGeyvo+mRGJxAApRGTLjkarKz' +
  'Ig=='

async function archiveOf(
  write: (writer: Awaited<ReturnType<typeof openArchiveWriter>>) => unknown,
) {
  const output = new PassThrough()
  const written = buffer(output)
  const writer = await openArchiveWriter(output, MANIFEST)
  await write(writer)
  await writer.finish()
  return written
}

async function contentOf(archive: Buffer, passphrase?: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  await readArchive(
    Readable.from([archive]),
    async () => {},
    async ({ name, bytes }) => {
      found[name] = String(await buffer(bytes))
    },
    passphrase,
  )
  return found
}

type Entry = { name: string; text: string }

/** Unpacks an archive, and packs it again after a change. */
async function repacked(archive: Buffer, change: (entries: Entry[]) => Entry[]): Promise<Buffer> {
  const entries: Entry[] = []
  for await (const entry of Readable.from([zstdDecompressSync(archive)]).pipe(extract()))
    entries.push({ name: entry.header.name, text: String(await buffer(entry)) })
  const tar = pack()
  for (const { name, text } of change(entries)) tar.entry({ name }, text)
  tar.finalize()
  return zstdCompressSync(await buffer(tar))
}

test('an archive that was unpacked, altered and packed again is refused', async () => {
  const archive = await archiveOf(({ text }) => text('files/a/1', 'the price is 100'))
  const altered = (change: (entries: Entry[]) => Entry[]) =>
    repacked(archive, change).then((bytes) => contentOf(bytes))
  const price = (entry: Entry) => ({ ...entry, text: entry.text.replace('100', '900') })
  const more = { name: 'files/a/2', text: 'one more' }

  assert.deepEqual(await altered((entries) => entries), { 'files/a/1': 'the price is 100' })
  const damaged = {
    'do not match its digest': (entries: Entry[]) => entries.map(price),
    'does not begin with a manifest': ([first, ...rest]: Entry[]) => [
      { name: 'files/a/0', text: first?.text ?? '' },
      ...rest,
    ],
    'there is data after its end': (entries: Entry[]) => [...entries, more],
    'its end is missing': (entries: Entry[]) => entries.slice(0, -1),
  }
  for (const [why, change] of Object.entries(damaged))
    await assert.rejects(altered(change), new RegExp(`damaged or not one of ours: .*${why}`), why)
})

test('members that a restore does not read are checked as well', async () => {
  const archive = await archiveOf(async ({ text }) => {
    await text('files/a/1', 'not of interest')
    await text('files/a/2', 'not of interest either')
  })
  const names: string[] = []
  const ignore = async ({ name }: { name: string }) => void names.push(name)

  await readArchive(Readable.from([archive]), async () => {}, ignore)

  assert.deepEqual(names, ['files/a/1', 'files/a/2'])
})

test('a member that climbs out of its folder is no member', () => {
  const hostile = ['files/a/../../etc/passwd', 'files/a/..', 'files//x', 'files/a//x', 'files/a']
  for (const path of ['', 'files', ...hostile, 'db/a/t', 'db/a/../t', 'db/a/t/0/1', 'other/a/b'])
    assert.equal(memberOf(path), undefined, path)

  const file = { kind: 'file', service: 'a', name: 'b/c' }
  assert.deepEqual(memberOf('files/a/b/c'), file)
  assert.deepEqual(memberOf('files/a/c'), { ...file, name: 'c' })
  const rows = { kind: 'rows', service: 'a', table: 't' }
  assert.deepEqual(memberOf('db/a/t/000000.ndjson'), rows)
})

test('a file that grows or shrinks while it is read ends the backup', async () => {
  const archiveWith = (size: number) =>
    archiveOf(({ file }) => file('files/a/1', size, Readable.from([Buffer.from('four')])))

  await archiveWith(4)
  for (const size of [3, 5])
    await assert.rejects(archiveWith(size), /files\/a\/1 changed while it was read/, `${size}`)
})

test('an archive that an earlier version encrypted can still be read', async () => {
  const archive = Buffer.from(ENCRYPTED, 'base64')

  assert.deepEqual(await contentOf(archive, PASSPHRASE), { 'files/a/1': 'kept' })
})

test('a member that is left unread is checked all the same', async () => {
  const archive = await archiveOf(({ text }) => text('files/a/1', 'x'.repeat(300_000)))
  const altered = await repacked(archive, (entries) =>
    entries.map((entry) => ({ ...entry, text: entry.text.replace('xx', 'xy') })),
  )
  const ignore = (bytes: Buffer) =>
    readArchive(
      Readable.from([bytes]),
      async () => {},
      async () => {},
    )

  assert.equal((await ignore(archive)).version, '1.0.0')
  await assert.rejects(ignore(altered), { reason: 'damaged' })
})
