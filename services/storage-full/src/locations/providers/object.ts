import { tmpdir } from 'node:os'
import type { Readable } from 'node:stream'
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { failPoint } from '@plinth/kit/runtime'
import { storageUnavailable } from '../problems.ts'
import { orAbsent, orUnavailable, sendContent, type Target } from './object-calls.ts'
import { type ObjectClient, openObjectClient, unusableSettings } from './object-client.ts'
import { objectPartialObjects } from './object-partial.ts'
import { bucketState, objectProbe } from './object-probe.ts'
import { endOnStall, type ObjectBody } from './object-stalls.ts'
import type {
  ByteRange,
  ObjectSettings,
  SourceFile,
  StorageProvider,
  StoreAccess,
} from './provider.ts'

const CHECK_MS = 2_000

/** Keeps objects in a bucket of a store with an S3-style interface. */
export function createObjectProvider(
  settings: ObjectSettings,
  access: StoreAccess,
  prefix?: string,
): StorageProvider {
  const { bucket: Bucket } = settings
  const { answerMs, spoolFolder = tmpdir() } = access
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
    partial: objectPartialObjects({
      ...{ Bucket, answerMs, spoolFolder, store },
      objects: () => provider,
    }),
    examine: async () => bucketState({ settings, access, prefix, client: await store() }, provider),
    close() {
      client?.then(({ s3 }) => s3.destroy()).catch(() => {})
    },
  }
  return provider
}

/**
 * One `PutObject` with a known length: nothing is visible in the store until the last byte has
 * arrived and matched the checksum.
 */
async function putObject(
  client: ObjectClient,
  target: Target,
  { content, contentType, checksumSha256 }: SourceFile,
  answerMs: number,
): Promise<void> {
  const { sdk, s3 } = client
  await sendContent(content, answerMs, (body, options) =>
    s3.send(
      new sdk.PutObjectCommand({
        ...target,
        Body: body,
        ContentLength: content.sizeBytes,
        ContentType: contentType,
        ChecksumSHA256: Buffer.from(checksumSha256, 'hex').toString('base64'),
      }),
      options,
    ),
  )
  failPoint('object-put:stored')
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
