import assert from 'node:assert/strict'
import { get } from 'node:http'
import { after, describe, type TestContext, test } from 'node:test'
import { DeleteObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { startFakeClamd } from './fake-clamd.ts'
import { replace } from './replace-file.ts'
import { activateObject, engines, startStorage, type TestStorage, upload } from './start-storage.ts'
import { fileIdOf, locationOf, offsetOf, textOf, tusFor } from './tus-client.ts'
import { entriesOf } from './zip-readers.ts'

const skip = await s3Missing()
const s3 = skip ? ({} as S3Server) : await startS3({ after })
const TEXT = { name: 'a.txt', type: 'text/plain' }
const INFECTED = Buffer.concat([textOf(150_000), Buffer.from('VIRUS'), textOf(150_000)])

for (const engine of engines)
  describe(`scanning and ZIP with a bucket, on ${engine.name}`, {
    ...engine.options,
    skip: engine.skip || skip,
  }, () => {
    const start = async (t: TestContext) => {
      const clamd = await startFakeClamd(t)
      const service = await startStorage(t, {
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
        STORAGE_FULL_SCAN_URL: clamd.url,
      })
      await activateObject(service, s3.settings)
      const { api, user } = service
      const zip = async (ids: number[]) =>
        (await api.post('/file/zip', { ids }, { token: user })).body.token as string
      return { ...service, clamd, zip, tus: tusFor(api, user) }
    }

    test('what is found by form, tus or replace leaves nothing in the bucket', async (t) => {
      const { api, user, tus, clamd } = await start(t)
      const clean = await upload(api, user, { ...TEXT, bytes: textOf(300_000) })
      const before = await keysInBucket()

      const byForm = await upload(api, user, { ...TEXT, bytes: INFECTED })
      const byReplace = await replace(api, user, clean.body.id, { bytes: INFECTED })
      const location = locationOf(await tus.create({ length: INFECTED.length }))
      await tus.patch(location, 0, INFECTED.subarray(0, 200_000))
      const byTus = await tus.patch(location, 200_000, INFECTED.subarray(200_000))

      for (const { status, body } of [byForm, byReplace, byTus])
        assert.deepEqual([status, body.code], [400, 'FILE_INFECTED'])
      assert.deepEqual(await keysInBucket(), before)
      for (const scanned of clamd.scanned.slice(1)) assert.ok(scanned.equals(INFECTED))
      assert.equal(clamd.scanned.length, 4)
    })

    test('a tus upload into a bucket waits for the scanner, and is then scanned from the bucket', {
      tags: ['all'],
    }, async (t) => {
      const { api, user, tus, clamd } = await start(t)
      clamd.behave('closes at once')
      const location = locationOf(await tus.create({ length: 300_000 }))
      const last = await tus.patch(location, 0, textOf(300_000))
      const waiting = await tus.head(location)
      clamd.behave('scans')

      const done = await tus.head(location)

      assert.deepEqual([last.status, waiting.status], [503, 423])
      assert.deepEqual([done.status, offsetOf(done)], [200, 300_000])
      assert.ok(clamd.scanned[0]?.equals(textOf(300_000)))
      const { bytes } = await api.get(`/file/download/${fileIdOf(done)}`, { token: user })
      assert.ok(bytes.equals(textOf(300_000)))
    })

    test('an archive is read from the bucket; an object that is gone cuts the connection', async (t) => {
      const service = await start(t)
      const { api, user, tus, zip } = service
      const location = locationOf(await tus.create({ length: 200_000 }))
      await tus.patch(location, 0, textOf(90_000))
      const resumed = fileIdOf(await tus.patch(location, 90_000, textOf(110_000)))
      const form = await upload(api, user, { ...TEXT, bytes: textOf(500_000) })
      await replace(api, user, form.body.id, { bytes: textOf(400_000) })
      const before = await keysInBucket()
      const small = await upload(api, user, { ...TEXT, bytes: Buffer.from('small') })
      const token = await zip([resumed, form.body.id, small.body.id])

      const whole = await download(service, token)
      const [last = ''] = (await keysInBucket()).filter((key) => !before.includes(key))
      await withBucket((client, Bucket) =>
        client.send(new DeleteObjectCommand({ Bucket, Key: last })),
      )
      const cut = await download(service, token)

      assert.deepEqual(
        (await entriesOf(t, whole.bytes)).map(([name, size]) => [name, size]),
        [
          ['a.txt', 200_000],
          ['a (2).txt', 400_000],
          ['a (3).txt', 5],
        ],
      )
      assert.deepEqual([whole.isComplete, whole.announced], [true, whole.bytes.length])
      assert.deepEqual([cut.isComplete, cut.announced], [false, whole.announced])
      assert.ok(cut.bytes.length < whole.bytes.length)
    })
  })

async function withBucket<T>(work: (client: S3Client, bucket: string) => Promise<T>): Promise<T> {
  const { endpoint, region, accessKey, secretKey, bucket } = s3.settings
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey }
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
  try {
    return await work(client, bucket)
  } finally {
    client.destroy()
  }
}

async function keysInBucket(): Promise<string[]> {
  const { Contents = [] } = await withBucket((client, Bucket) =>
    client.send(new ListObjectsV2Command({ Bucket })),
  )
  return Contents.map(({ Key = '' }) => Key).sort()
}

/** A download that does not hide how it ended. */
function download({ baseUrl }: TestStorage, token: string) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    bytes: Buffer
    announced: number
    isComplete: boolean
  }>()
  const asked = get(`${baseUrl}/file/zip/${token}`, (reply) => {
    const chunks: Buffer[] = []
    const announced = Number(reply.headers['content-length'])
    reply.on('data', (chunk: Buffer) => chunks.push(chunk))
    reply.on('error', () => {})
    reply.on('close', () =>
      resolve({ bytes: Buffer.concat(chunks), announced, isComplete: reply.complete }),
    )
  })
  asked.once('error', reject)
  return promise
}
