import assert from 'node:assert/strict'
import { once } from 'node:events'
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { readdir, truncate, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { createLogger } from '@plinth/kit/logging'
import { sampleFiles } from '@plinth/kit/testing'
import { openStorage } from '../src/app.ts'
import { directoryHeader, endOfArchive, layOut, localHeader } from '../src/zip/layout.ts'
import { replace } from './replace-file.ts'
import { startStorage, type TestStorage, temporaryFolder, upload } from './start-storage.ts'
import { textOf } from './tus-client.ts'
import { readArchive, readersMissing } from './zip-readers.ts'

const skip = await readersMissing()
const GIB = 2 ** 30
const ZEROS = Buffer.alloc(2 ** 20)

async function databaseOf(t: TestContext, { config, clock }: TestStorage) {
  const log = createLogger('zip', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  t.after(() => database.close())
  return storage.db
}

const HEAD_END = '\r\n\r\n'

/**
 * Writes a reply to a file, with holes where it has zeros. Returns what was announced and received. Of 4 GiB, an HTTP
 * client would make as much garbage: this reads them all into one buffer.
 */
async function saveSparsely(url: string, path: string) {
  const { host, hostname, port, pathname } = new URL(url)
  const file = openSync(path, 'w')
  let head = ''
  let received = 0
  const save = (chunk: Buffer) => {
    if (!chunk.equals(ZEROS.subarray(0, chunk.length)))
      writeSync(file, chunk, 0, chunk.length, received)
    received += chunk.length
  }
  const take = (chunk: Buffer) => {
    if (head.includes(HEAD_END)) return save(chunk)
    const before = head.length
    head += chunk.toString('latin1')
    const end = head.indexOf(HEAD_END)
    if (end >= 0) save(chunk.subarray(end + HEAD_END.length - before))
  }
  const callback = (length: number, buffer: Uint8Array) => {
    take(Buffer.from(buffer.buffer, 0, length))
    return true
  }
  try {
    const onread = { buffer: Buffer.alloc(ZEROS.length), callback }
    const socket = connect({ host: hostname, port: Number(port), onread })
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close${HEAD_END}`)
    await once(socket, 'close')
    ftruncateSync(file, received)
  } finally {
    closeSync(file)
  }
  assert.match(head, /^HTTP\/1\.1 200 /)
  return { announced: Number(/^content-length: (\d+)/im.exec(head)?.[1]), received }
}

test('unzip, Python and 7-Zip read an archive, also with checksums that follow the contents', {
  skip,
}, async (t) => {
  const service = await startStorage(t)
  const { api, user, folder, baseUrl } = service
  const ids = []
  for (const [name, bytes] of [
    ['Grüße 日本.txt', sampleFiles.txt],
    ['n.txt', textOf(300_000)],
    ['n.txt', textOf(70_000)],
    ['n.txt', Buffer.from('x')],
  ] as const)
    ids.push((await upload(api, user, { name, type: 'text/plain', bytes })).body.id)
  const db = await databaseOf(t, service)
  const { body } = await api.post('/file/zip', { ids }, { token: user })

  for (const kind of ['known', 'unknown', 'learnt']) {
    if (kind === 'unknown')
      await db
        .updateTable('files')
        .set({ crc32: null })
        .where('id', 'in', ids.slice(1, 3))
        .execute()
    const path = join(folder, `${kind}.zip`)
    const { announced, received } = await saveSparsely(`${baseUrl}/file/zip/${body.token}`, path)
    const entries = await readArchive(path)

    assert.equal(announced, received)
    assert.deepEqual(
      entries.map(({ name, flags }) => [name, (flags & 8) > 0]),
      [
        ['Grüße 日本.txt', false],
        ['n.txt', kind === 'unknown'],
        ['n (2).txt', kind === 'unknown'],
        ['n (3).txt', false],
      ],
    )
  }
})

test('unzip, Python and 7-Zip read an archive after a replace and after the restore of a version from before CRC-32 was kept', {
  skip,
}, async (t) => {
  const service = await startStorage(t, { STORAGE_FULL_VERSIONS: '3' })
  const { api, user, folder, baseUrl } = service
  const text = { name: 'a.txt', type: 'text/plain', bytes: textOf(100_000) }
  const { id } = (await upload(api, user, text)).body
  const db = await databaseOf(t, service)
  await db.updateTable('files').set({ crc32: null }).execute()
  const { body } = await api.post('/file/zip', { ids: [id] }, { token: user })
  const sizes: (number | undefined)[] = []
  const check = async () => {
    const path = join(folder, `${sizes.length}.zip`)
    await saveSparsely(`${baseUrl}/file/zip/${body.token}`, path)
    sizes.push((await readArchive(path))[0]?.size)
  }

  await replace(api, user, id, { bytes: textOf(70_000) })
  await check()
  await api.post(`/file/${id}/versions/1/restore`, {}, { token: user })
  await check()
  await check()

  assert.deepEqual(sizes, [70_000, 100_000, 100_000])
})

const SIZE = 4 * GIB + 12_345
/** Of so many zeros: summing them up takes longer than the service needs to send them. */
const SHA256 = '59ead87e2e32370612861365e7dcf1543fb29afaa0b29432c37eab5373fed514'
const CRC32 = 511_906_685

for (const isKnown of [true, false])
  test(`unzip, Python and 7-Zip read an archive over 4 GiB, with a file behind that, whose CRC-32 was ${isKnown ? 'known' : 'unknown'}`, {
    skip,
  }, async (t) => {
    const service = await startStorage(t, { STORAGE_FULL_MAX_FILE_SIZE: '10GB' })
    const { api, user, root, folder, baseUrl } = service
    const text = { name: 'large.txt', type: 'text/plain', bytes: textOf(1) }
    const large = await upload(api, user, text)
    const small = await upload(api, user)
    const { storedFilename } = large.body
    const objects = await readdir(root, { recursive: true, withFileTypes: true })
    const object = objects.find(({ name }) => name === storedFilename)
    assert.ok(object)
    // A hole that reads as zeros.
    await truncate(join(object.parentPath, object.name), 0)
    await truncate(join(object.parentPath, object.name), SIZE)
    const db = await databaseOf(t, service)
    await db
      .updateTable('files')
      .set({ size_bytes: SIZE, checksum_sha256: SHA256, crc32: isKnown ? CRC32 : null })
      .where('id', '=', large.body.id)
      .execute()
    const ids = [large.body.id, small.body.id]
    const { body } = await api.post('/file/zip', { ids }, { token: user })
    const path = join(folder, 'large.zip')

    const { announced, received } = await saveSparsely(`${baseUrl}/file/zip/${body.token}`, path)
    const entries = await readArchive(path)

    assert.equal(announced, received)
    assert.deepEqual(
      entries.map(({ name, size }) => [name, size]),
      [
        ['large.txt', SIZE],
        ['picture.png', sampleFiles.png.length],
      ],
    )
  })

test('unzip, Python and 7-Zip read an archive of 70,000 entries', { skip }, async (t) => {
  const folder = await temporaryFolder(t)
  const content = Buffer.from('x')
  const modifiedAt = new Date('2030-01-01')
  const entries = Array.from({ length: 70_000 }, (_, index) => ({
    ...(index % 10 === 0
      ? { name: `empty ${index}/`, sizeBytes: 0, crc32: 0 }
      : { name: `${index}.txt`, sizeBytes: 1, crc32: crc32(content) }),
    modifiedAt,
  }))
  const layout = layOut(entries)
  const path = join(folder, 'many.zip')
  const bytes = Buffer.concat([
    ...entries.flatMap((entry) => [localHeader(entry), content.subarray(0, entry.sizeBytes)]),
    ...layout.placed.map((placed) => directoryHeader(placed, placed.entry.crc32)),
    endOfArchive(layout),
  ])
  await writeFile(path, bytes)

  const read = await readArchive(path)

  assert.equal(bytes.length, layout.totalBytes)
  assert.equal(read.length, 70_000)
})
