import { randomInt } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { failPoint } from '@plinth/kit/runtime'
import { isBrokenConnection, storageUnavailable } from '../problems.ts'
import {
  faultCode,
  httpStatus,
  isStoreFault,
  type ObjectClient,
  openObjectClient,
  unusableSettings,
} from './object-client.ts'
import { bucketState, objectProbe } from './object-probe.ts'
import { abortOnStall, endOnStall, type ObjectBody } from './object-stalls.ts'
import type {
  ByteRange,
  ObjectSettings,
  SourceFile,
  StorageProvider,
  StoreAccess,
} from './provider.ts'

const CHECK_MS = 2_000
/** Random, so that uploads that were refused together do not return together; the SDK waits as long. */
const BUSY_MS = 500
const BUSY = new Set([429, 500, 502, 503, 504])

/** Keeps objects in a bucket of a store with an S3-style interface. */
export function createObjectProvider(
  settings: ObjectSettings,
  access: StoreAccess,
  prefix?: string,
): StorageProvider {
  const { bucket: Bucket } = settings
  const { answerMs } = access
  let client: Promise<ObjectClient> | undefined
  const unusable = unusableSettings(settings)
  const store = async () => {
    if (unusable.length > 0)
      throw storageUnavailable({ cause: new Error(`Unusable settings: ${unusable.join('; ')}`) })
    client ??= openObjectClient(settings, access).catch((error) => {
      client = undefined
      throw error
    })
    return client
  }
  const provider: StorageProvider = {
    prepare: async () => {}, // The owner of the store creates the bucket.
    put: async (Key, source) => putObject(await store(), { Bucket, Key }, source, answerMs),
    open: async (Key, range) =>
      orAbsent(openObject(await store(), { Bucket, Key, answerMs, range })),
    read: (Key, range) => provider.open(Key, range),
    async sizeOf(Key) {
      const { sdk, s3, ask } = await store()
      const sizeInTime = ask(async (options) => {
        const head = await orAbsent(s3.send(new sdk.HeadObjectCommand({ Bucket, Key }), options))
        if (head) return head.ContentLength ?? 0
        // The reply to HEAD has no body, so it does not say whether the object or its bucket is missing.
        await s3.send(new sdk.HeadBucketCommand({ Bucket }), options)
        return undefined
      })
      return orUnavailable(sizeInTime)
    },
    async requireRemovable(Key) {
      await provider.sizeOf(Key)
    },
    async remove(Key) {
      const { sdk, s3, ask } = await store()
      const command = new sdk.DeleteObjectCommand({ Bucket, Key })
      await orAbsent(ask((options) => s3.send(command, options)))
    },
    async *list(prefix) {
      yield* listObjects(await store(), Bucket, prefix)
    },
    async check() {
      const { sdk, s3, ask } = await store()
      const command = new sdk.HeadBucketCommand({ Bucket })
      const limitMs = Math.min(CHECK_MS, answerMs)
      await orUnavailable(ask((options) => s3.send(command, options), limitMs))
    },
    // A store that is down must not take every node out of service at once.
    requireWritable: async () => {},
    async probe() {
      const message = `${unusable[0]}. Correct it and save the settings again.`
      if (unusable.length > 0) return [{ name: 'settings', passed: false, message }]
      return objectProbe({ settings, access, prefix, client: await store() }, provider)
    },
    examine: async () => bucketState({ settings, access, prefix, client: await store() }, provider),
    close() {
      client?.then(({ s3 }) => s3.destroy()).catch(() => {})
    },
  }
  return provider
}

type Target = { Bucket: string; Key: string }

/**
 * One `PutObject` with a known length: nothing is visible in the store until the last byte has
 * arrived and matched the checksum. It is retried once, from the start, after a broken connection or
 * an answer that asks for it; the SDK itself never retries a stream. Both attempts share the time for which
 * the store may stay silent.
 */
async function putObject(
  client: ObjectClient,
  target: Target,
  source: SourceFile,
  answerMs: number,
): Promise<void> {
  const silence = { leftMs: answerMs }
  const send = () => sendFile(client, target, source, silence)
  await orUnavailable(
    send().catch(async (error) => {
      if (isBusy(error)) await setTimeout(randomInt(BUSY_MS))
      else if (!isBrokenConnection(error)) throw error
      await send()
    }),
  )
  failPoint('object-put:stored')
}

/** The answers after which the SDK retries other calls: `SlowDown`, `InternalError` and those of proxies. */
function isBusy(error: unknown): boolean {
  return BUSY.has(httpStatus(error) ?? 0)
}

async function sendFile(
  { sdk, s3 }: ObjectClient,
  target: Target,
  { content, contentType, checksumSha256 }: SourceFile,
  silence: { leftMs: number },
): Promise<void> {
  const body = await content.read()
  const progress = abortOnStall(body, content.sizeBytes, silence.leftMs)
  const command = new sdk.PutObjectCommand({
    ...target,
    Body: body,
    ContentLength: content.sizeBytes,
    ContentType: contentType,
    ChecksumSHA256: Buffer.from(checksumSha256, 'hex').toString('base64'),
  })
  try {
    // Only a lack of progress times out: a large file may take as long as it needs.
    await s3.send(command, { abortSignal: progress.signal, requestTimeout: 0 })
  } catch (error) {
    throw body.errored ?? error // If reading the disk failed, that is why the call was aborted.
  } finally {
    silence.leftMs -= progress.stop()
    body.destroy()
  }
}

type Opening = Target & { answerMs: number; range: ByteRange | undefined }

async function openObject(
  { sdk, s3, ask }: ObjectClient,
  { answerMs, range, ...target }: Opening,
): Promise<Readable> {
  const askedAt = performance.now()
  const Range = range && `bytes=${range.start}-${range.end}`
  const command = new sdk.GetObjectCommand({ ...target, Range })
  const reply = await ask((options) => s3.send(command, options))
  const body = reply.Body as unknown as ObjectBody
  if (range && !isRange(range, reply)) {
    body.destroy()
    throw Object.assign(new Error('The store returned a different range'), { code: 'WrongRange' })
  }
  return endOnStall(body, answerMs, askedAt)
}

/** A store that ignores `Range` sends the whole object and no `Content-Range`. */
function isRange({ start, end }: ByteRange, reply: GetObjectCommandOutput): boolean {
  const { ContentLength, ContentRange } = reply
  if (ContentLength !== end - start + 1) return false
  return ContentRange ? ContentRange.startsWith(`bytes ${start}-${end}/`) : start === 0
}

async function* listObjects(
  { sdk, s3, ask }: ObjectClient,
  Bucket: string,
  prefix: string,
): AsyncIterable<string> {
  const query = { Bucket, Prefix: `${prefix}/` }
  let ContinuationToken: string | undefined
  do {
    const command = new sdk.ListObjectsV2Command({ ...query, ContinuationToken })
    const page = await orUnavailable(ask((options) => s3.send(command, options)))
    for (const { Key } of page.Contents ?? []) if (Key) yield Key
    ContinuationToken = page.NextContinuationToken
  } while (ContinuationToken)
}

async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (httpStatus(error) === 404 && faultCode(error) !== 'NoSuchBucket') return undefined
    throw asStoreFault(error)
  }
}

function orUnavailable<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => Promise.reject(asStoreFault(error)))
}

/** The SDK's errors contain the host, the signed request and sometimes the access key, so none is kept. */
function asStoreFault(error: unknown): unknown {
  if (storageUnavailable.is(error) || !isStoreFault(error)) return error
  const status = httpStatus(error)
  const answer = status === undefined ? '' : ` (HTTP ${status})`
  const cause = new Error(`The object store answered ${faultCode(error)}${answer}`)
  return storageUnavailable({ cause })
}
