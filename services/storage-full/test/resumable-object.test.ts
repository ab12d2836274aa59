import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, type TestContext, test } from 'node:test'
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { createLogger } from '@plinth/kit/logging'
import { systemClock } from '@plinth/kit/runtime'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { openStorage } from '../src/app.ts'
import { loadConfig, type StorageFullConfig } from '../src/config.ts'
import type { Storage } from '../src/files/storage.ts'
import { listLocations } from '../src/locations/locations.ts'
import { partBytesOf } from '../src/locations/providers/object-partial.ts'
import { bucketFindingsWith } from '../src/upkeep/bucket.ts'
import { sweep } from '../src/upkeep/sweep.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import { activateObject, engines, startStorage, temporaryFolder } from './start-storage.ts'
import { fileIdOf, locationOf, offsetOf, sha256, tusFor } from './tus-client.ts'

const MIB = 1024 * 1024
const skip = await s3Missing()
const s3 = skip ? ({} as S3Server) : await startS3({ after })

/** A file of type mp3, so that its content may be random. */
const soundOf = (bytes: number) =>
  Buffer.concat([Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1'), randomBytes(bytes - 10)])

test('parts have one size of at least 8 MiB, and there are never more than 10,000', () => {
  const sizes = [1, 8 * MIB, 80_000 * MIB, 80_000 * MIB + 1, 5 * MIB * MIB]

  const parts = sizes.map(partBytesOf)

  assert.deepEqual(parts.slice(0, 4), [8 * MIB, 8 * MIB, 8 * MIB, 9 * MIB])
  for (const [index, size] of sizes.entries()) assert.ok(size / (parts[index] ?? 1) <= 10_000)
})

for (const engine of engines)
  describe(`resumable uploads into a bucket, on ${engine.name}`, {
    ...engine.options,
    skip,
  }, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL, ...env })
      await activateObject(service, s3.settings)
      return { ...service, tus: tusFor(service.api, service.user) }
    }

    test('a small upload in pieces becomes one object; nothing else is left in the bucket', async (t) => {
      const { api, user, tus, env, clock } = await start(t)
      const bytes = soundOf(1000)
      const location = locationOf(await tus.create({ name: 'a.mp3', length: bytes.length }))

      await tus.patch(location, 0, bytes.subarray(0, 20))
      const head = await tus.head(location)
      await tus.patch(location, 20, bytes.subarray(20, 600))
      const last = await tus.patch(location, 600, bytes.subarray(600))

      assert.equal(offsetOf(head), 20)
      const info = await api.get(`/file/info/${fileIdOf(last)}`, { token: user })
      const { provider, size, checksumSha256 } = info.body
      assert.deepEqual([provider, size, checksumSha256], ['OBJECT', 1000, sha256(bytes)])
      const content = await api.get(`/file/download/${fileIdOf(last)}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
      assert.deepEqual(await leftovers(), [])
      assert.deepEqual(await verified(env, clock), ['sound'])
    })

    test('two nodes without a common disk take turns at an upload of several parts', {
      tags: ['all'],
    }, async (t) => {
      const first = await start(t)
      const { api, user, tus } = first
      const SUITE_DATA = await temporaryFolder(t)
      const STORAGE_FULL_ROOT = `${SUITE_DATA}/root`
      const second = await startStorage(t, { ...first.env, SUITE_DATA, STORAGE_FULL_ROOT })
      const there = tusFor(second.api, user)
      const bytes = soundOf(20 * MIB)
      const location = locationOf(await tus.create({ name: 'a.mp3', length: bytes.length }))

      const ends = [3 * MIB, 11 * MIB + 5, 16 * MIB, 20 * MIB]
      let offset = 0
      const statuses: number[] = []
      let fileId = 0
      for (const [turn, end] of ends.entries()) {
        const at = turn % 2 ? there : tus
        const reply = await at.patch(location, offset, bytes.subarray(offset, end))
        statuses.push(reply.status)
        fileId = fileIdOf(reply)
        offset = end
      }

      assert.deepEqual(statuses, [204, 204, 204, 204])
      const content = await api.get(`/file/download/${fileId}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
      const info = await api.get(`/file/info/${fileId}`, { token: user })
      assert.equal(info.body.checksumSha256, sha256(bytes))
      assert.deepEqual(await leftovers(), [])
    })

    test('one request may bring several parts and the end', { tags: ['all'] }, async (t) => {
      const { api, user, tus } = await start(t)
      const bytes = soundOf(18 * MIB)
      const location = locationOf(await tus.create({ name: 'a.mp3', length: bytes.length }))

      const reply = await tus.patch(location, 0, bytes)

      assert.equal(reply.status, 204)
      const content = await api.get(`/file/download/${fileIdOf(reply)}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
    })

    test('a cancelled or refused upload leaves no part, tail or object', {
      tags: ['all'],
    }, async (t) => {
      const { tus, env, clock } = await start(t)
      const bytes = soundOf(9 * MIB)
      const cancelled = locationOf(await tus.create({ name: 'a.mp3', length: 20 * MIB }))
      await tus.patch(cancelled, 0, bytes)
      const refused = locationOf(await tus.create({ name: 'a.txt', length: bytes.length }))
      await tus.patch(refused, 0, Buffer.alloc(bytes.length - 1, 'a'))
      const between = await leftovers()

      const replies = [
        await tus.cancel(cancelled),
        await tus.patch(refused, bytes.length - 1, Buffer.from([0])),
      ]

      assert.ok(between.length > 0)
      assert.deepEqual(
        replies.map(({ status }) => status),
        [204, 400],
      )
      assert.deepEqual(await leftovers(), [])
      assert.deepEqual(await verified(env, clock), [])
    })

    test('plinth doctor counts parts that belong to no upload, and the sweep removes them', {
      tags: ['all'],
    }, async (t) => {
      const { config, tus } = await start(t)
      const known = locationOf(await tus.create({ name: 'a.mp3', length: 20 * MIB }))
      await tus.patch(known, 0, soundOf(9 * MIB))
      const examine = async () => {
        const examined = { name: 'storage-full', prefix: '', production: false, isPublic: false }
        const found = await bucketFindingsWith(openStorage)(
          { ...examined, isRunning: true },
          config,
        )
        return found.find(({ seen }) => seen.includes('uploads that have ended'))
      }

      const before = await examine()
      await desk(config, leaveParts)
      const found = await examine()
      await desk(config, sweep)
      const after = await examine()

      assert.deepEqual([before?.status, found?.status, after?.status], ['ok', 'warn', 'ok'])
      assert.match(found?.seen ?? '', /: 1$/)
      assert.equal(offsetOf(await tus.head(known)), 9 * MIB)
      await tus.cancel(known)
    })

    test('an upload stays at the location that was active when it was created', async (t) => {
      const { api, user, admin, tus } = await start(t)
      const bytes = soundOf(100)
      const location = locationOf(await tus.create({ name: 'a.mp3', length: 100 }))
      await tus.patch(location, 0, bytes.subarray(0, 70))

      await api.put('/api/storage/provider', { provider: 'LOCAL' }, { token: admin })
      const last = await tus.patch(location, 70, bytes.subarray(70))

      const info = await api.get(`/file/info/${fileIdOf(last)}`, { token: user })
      assert.equal(info.body.provider, 'OBJECT')
    })

    test('a bucket that is away is 503; when it is back, the upload goes on', async (t) => {
      const { tus, api, user } = await start(t, { STORAGE_FULL_OBJECT_TIMEOUT_SECONDS: '4' })
      const bytes = soundOf(100)
      const location = locationOf(await tus.create({ name: 'a.mp3', length: 100 }))
      await tus.patch(location, 0, bytes.subarray(0, 70))
      s3.pause()

      const away = await tus.patch(location, 70, bytes.subarray(70))
      s3.resume()
      const head = await tus.head(location)
      const rest = await tus.patch(location, offsetOf(head), bytes.subarray(offsetOf(head)))

      assert.deepEqual([away.status, away.body.code], [503, 'STORAGE_UNAVAILABLE'])
      assert.equal(rest.status, 204)
      const content = await api.get(`/file/download/${fileIdOf(rest)}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
    })
  })

/** Everything in the bucket that belongs to unfinished uploads. */
async function leftovers(): Promise<string[]> {
  const { endpoint, region, accessKey, secretKey, bucket: Bucket } = s3.settings
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey }
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }))
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }))
  client.destroy()
  const keys = [...Contents, ...Uploads].map(({ Key = '' }) => Key)
  return keys.filter(
    (key) => key.includes('-unfinished/') || Uploads.some((each) => each.Key === key),
  )
}

/** What a request leaves that goes on after its upload has ended. */
async function leaveParts({ db, providers }: Storage): Promise<void> {
  const bucket = (await listLocations(db)).find(({ provider }) => provider === 'OBJECT')
  if (!bucket) throw new Error('There is no bucket')
  const known = { offset: 0, multipartId: null, tail: null, contentType: 'audio/mpeg' }
  const object = { ...known, key: `${bucket.prefix}/late.mp3`, sizeBytes: 20 * MIB }
  await using appending = await providers.at(bucket).partial.append(object)
  await appending.write(soundOf(9 * MIB))
  await appending.keep()
}

async function verified(env: Record<string, string>, clock: () => Date) {
  return desk(loadConfig(env), (storage) => Array.fromAsync(verifyFiles(storage)), clock)
}

/** Beside the running service, as the command line is. */
async function desk<T>(
  config: StorageFullConfig,
  work: (storage: Storage) => Promise<T>,
  clock = systemClock,
): Promise<T> {
  const log = createLogger('desk', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  try {
    return await work(storage)
  } finally {
    storage.providers.close()
    await database.close()
  }
}
