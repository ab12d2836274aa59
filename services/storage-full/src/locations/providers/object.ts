import type { Readable } from 'node:stream'
import { failPoint } from '@plinth/kit'
import { isBrokenConnection, storageUnavailable } from '../problems.ts'
import {
  faultCode,
  httpStatus,
  isStoreFault,
  type ObjectClient,
  openObjectClient,
} from './object-client.ts'
import { objectProbe } from './object-probe.ts'
import { abortOnStall, endOnStall, type ObjectBody } from './object-stalls.ts'
import type {
  ByteRange,
  ObjectSettings,
  SourceFile,
  StorageProvider,
  StoreTimeouts,
} from './provider.ts'

const CHECK_MS = 2_000

/** Keeps objects in a bucket of a store with an S3-style interface. */
export function createObjectProvider(
  settings: ObjectSettings,
  timeouts: StoreTimeouts,
  prefix?: string,
): StorageProvider {
  let client: Promise<ObjectClient> | undefined
  const store = () => {
    client ??= openObjectClient(settings, timeouts).catch((error) => {
      client = undefined
      throw error
    })
    return client
  }
  const bucket = { Bucket: settings.bucket }
  const requireBucket = async (requestTimeout: number) => {
    const { sdk, s3 } = await store()
    await orUnavailable(s3.send(new sdk.HeadBucketCommand(bucket), { requestTimeout }))
  }
  const provider: StorageProvider = {
    prepare: async () => {}, // a bucket is made by whoever owns the store
    put: async (key, source) => putObject(await store(), { ...bucket, Key: key }, source, timeouts),
    open: async (key, range) =>
      orAbsent(openObject(await store(), { ...bucket, Key: key }, timeouts, range)),
    async sizeOf(key) {
      const size = await orAbsent(objectSize(await store(), { ...bucket, Key: key }))
      // An answer without a body does not say whether the object is missing, or its bucket.
      if (size === undefined) await requireBucket(timeouts.answerMs)
      return size
    },
    async remove(key) {
      const { sdk, s3 } = await store()
      await orAbsent(s3.send(new sdk.DeleteObjectCommand({ ...bucket, Key: key })))
    },
    async *list(prefix) {
      yield* listObjects(await store(), settings.bucket, prefix)
    },
    check: () => requireBucket(Math.min(CHECK_MS, timeouts.answerMs)),
    probe: async () => objectProbe({ settings, timeouts, prefix, client: await store() }, provider),
    close: () =>
      void client?.then(
        ({ s3 }) => s3.destroy(),
        () => {},
      ),
  }
  return provider
}

type Target = { Bucket: string; Key: string }

/**
 * One `PutObject` with a known length: nothing is visible in the store until the last byte has
 * arrived and matched the checksum. A connection that broke is tried once more, from the start.
 */
async function putObject(
  client: ObjectClient,
  target: Target,
  source: SourceFile,
  timeouts: StoreTimeouts,
): Promise<void> {
  try {
    await sendFile(client, target, source, timeouts)
  } catch (error) {
    // By its code: the SDK calls such an error a TimeoutError.
    if (!isBrokenConnection(error)) throw asStoreFault(error)
    await orUnavailable(sendFile(client, target, source, timeouts))
  }
  failPoint('object-put:stored')
}

async function sendFile(
  { sdk, s3 }: ObjectClient,
  target: Target,
  source: SourceFile,
  timeouts: StoreTimeouts,
): Promise<void> {
  const { sizeBytes } = source.content
  const body = await source.content.read()
  const progress = abortOnStall(body, sizeBytes, timeouts.answerMs)
  const command = new sdk.PutObjectCommand({
    ...target,
    Body: body,
    ContentLength: sizeBytes,
    ContentType: source.contentType,
    ChecksumSHA256: Buffer.from(source.checksumSha256, 'hex').toString('base64'),
  })
  try {
    // Progress is what counts here: the whole of a large file may take its time.
    await s3.send(command, { abortSignal: progress.signal, requestTimeout: 0 })
  } catch (error) {
    throw body.errored ?? error // A disk that failed is the reason why the call was aborted.
  } finally {
    progress.stop()
    body.destroy()
  }
}

async function openObject(
  { sdk, s3 }: ObjectClient,
  target: Target,
  timeouts: StoreTimeouts,
  range?: ByteRange,
): Promise<Readable> {
  const Range = range && `bytes=${range.start}-${range.end}`
  const reply = await s3.send(new sdk.GetObjectCommand({ ...target, Range }))
  const body = reply.Body as unknown as ObjectBody
  if (range && reply.ContentLength !== range.end - range.start + 1) {
    body.destroy()
    throw Object.assign(new Error('Other bytes than asked for'), { code: 'WrongRange' })
  }
  return endOnStall(body, timeouts.answerMs)
}

async function objectSize({ sdk, s3 }: ObjectClient, target: Target): Promise<number> {
  const { ContentLength } = await s3.send(new sdk.HeadObjectCommand(target))
  return ContentLength ?? 0
}

async function* listObjects(
  { sdk, s3 }: ObjectClient,
  bucket: string,
  prefix: string,
): AsyncIterable<string> {
  let from: string | undefined
  do {
    const page = await orUnavailable(
      s3.send(
        new sdk.ListObjectsV2Command({
          Bucket: bucket,
          Prefix: `${prefix}/`,
          ContinuationToken: from,
        }),
      ),
    )
    for (const { Key } of page.Contents ?? []) if (Key) yield Key
    from = page.NextContinuationToken
  } while (from)
}

async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (httpStatus(error) === 404 && faultCode(error) !== 'NoSuchBucket') return undefined
    throw asStoreFault(error)
  }
}

async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw asStoreFault(error)
  }
}

/** The SDK's errors carry the host, the signed request and at times the access key: none goes on. */
function asStoreFault(error: unknown): unknown {
  if (!isStoreFault(error)) return error
  const status = httpStatus(error)
  const answer = status === undefined ? '' : ` (HTTP ${status})`
  return storageUnavailable({
    cause: new Error(`The object store answered ${faultCode(error)}${answer}`),
  })
}
