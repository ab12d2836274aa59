import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { type S3Settings, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import type { Row } from '../../harness/row.ts'
import { MEGABYTES as LARGEST } from '../../harness/settings.ts'
import { race } from '../race.ts'
import { writeLargeFile } from '../transfers.ts'
import { download, remove, type Service, SONG_START, upload, withService } from './service.ts'

const MEGABYTES = Math.min(256, LARGEST)

/** Uploads and downloads through the service, against the bare S3 client on the same store. */
export async function object(folder: string): Promise<Row[]> {
  return withBucket((settings) => transfers(folder, settings))
}

export async function withBucket<T>(work: (settings: S3Settings) => Promise<T>): Promise<T> {
  const missing = await s3Missing()
  if (missing) throw new Error(missing)
  const cleanups: (() => Promise<void>)[] = []
  try {
    const s3 = await startS3({ after: (cleanup) => cleanups.push(cleanup) })
    return await work(s3.settings)
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

async function transfers(folder: string, settings: S3Settings): Promise<Row[]> {
  const source = join(folder, 'object.mp3')
  await writeLargeFile(source, MEGABYTES, SONG_START)
  const bare = bareClient(settings, source, await sha256Of(source))
  return withService(join(folder, 'object'), async (service) => {
    await activateObject(service, settings)
    const { id } = await upload(service, source, 'audio/mpeg')
    const uploads = await race(
      `upload ${MEGABYTES} MiB to OBJECT, against a bare PutObject`,
      async () => {
        const stored = await upload(service, source, 'audio/mpeg')
        await remove(service, stored.id)
        return stored.seconds
      },
      async () => {
        const taken = await bare.put()
        await bare.remove()
        return taken
      },
      { megabytes: MEGABYTES, bar: 0.7 },
    )
    await bare.put()
    const downloads = await race(
      `download ${MEGABYTES} MiB from OBJECT, against a bare GetObject`,
      () => download(service, id),
      bare.get,
      { megabytes: MEGABYTES, bar: 0.8 },
    )
    return [uploads, downloads]
  })
}

/**
 * The same requests without the service: the store verifies the same checksum, here computed
 * beforehand, and each upload is a new object, which is deleted outside the measured time.
 */
function bareClient(settings: S3Settings, source: string, ChecksumSHA256: string) {
  const client = new S3Client({
    endpoint: settings.endpoint,
    region: settings.region,
    forcePathStyle: true,
    credentials: { accessKeyId: settings.accessKey, secretAccessKey: settings.secretKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  const target = { Bucket: settings.bucket, Key: 'bare' }
  const ContentLength = statSync(source).size
  const put = () =>
    seconds(async () => {
      const Body = createReadStream(source, { highWaterMark: 2 ** 20 })
      await client.send(new PutObjectCommand({ ...target, Body, ContentLength, ChecksumSHA256 }))
    })
  const get = () =>
    seconds(async () => {
      const { Body } = await client.send(new GetObjectCommand(target))
      for await (const chunk of Body as Readable) void chunk
    })
  const remove = () => client.send(new DeleteObjectCommand(target))
  return { put, get, remove }
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('base64')
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}

export async function activateObject({ url, admin }: Service, settings: S3Settings): Promise<void> {
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
  const put = (path: string, body: object) =>
    fetch(url + path, { method: 'PUT', headers, body: JSON.stringify(body) })
  await put('/api/storage/config/object', settings)
  const { status } = await put('/api/storage/provider', { provider: 'OBJECT' })
  if (status !== 200) throw new Error(`OBJECT could not be activated: ${status}`)
}
