import { createHash, type Hash, randomUUID } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { HEAD_BYTES, Spool } from '@plinth/kit/files'
import { failPoint } from '@plinth/kit/runtime'
import { asStorageFault, storageUnavailable } from '../problems.ts'
import { orAbsent, orUnavailable, sendContent } from './object-calls.ts'
import { faultCode, type ObjectClient } from './object-client.ts'
import { STORED_BYTES_PER_MS } from './object-stalls.ts'
import type { Appending, Kept, PartialObject, PartialObjects, StoredPart } from './partial.ts'
import type { StorageProvider } from './provider.ts'

const MIB = 1024 * 1024
/** Stores refuse parts under 5 MiB, and more than 10,000 of them. */
const MIN_PART_BYTES = 8 * MIB
const MAX_PARTS = 10_000

/** All parts but the last have one size, which some stores demand. It depends on nothing but the object's size. */
export function partBytesOf(sizeBytes: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(sizeBytes / MAX_PARTS / MIB) * MIB)
}

type Bucket = {
  Bucket: string
  answerMs: number
  spoolFolder: string
  store(): Promise<ObjectClient>
  /** Whole objects in the same bucket. */
  objects(): Pick<StorageProvider, 'open' | 'sizeOf' | 'remove' | 'list'>
}

/**
 * Whole parts go to a multipart upload of the bucket. What is left after the last one must be where another node
 * finds it, so it becomes an object of its own, under a new name each time: no tail is ever overwritten, and the one
 * that a row names stays until the row names another.
 */
export function objectPartialObjects(bucket: Bucket): PartialObjects {
  return {
    append: (object) => ObjectAppending.open(bucket, object),
    complete: (object, parts) => complete(bucket, object, parts),
    async discard(key) {
      for await (const { Key, UploadId } of multipartUploads(bucket, key))
        if (Key === key) await abort(bucket, Key, UploadId)
      const { list, remove } = bucket.objects()
      for await (const tail of list(tailsOf(key))) await remove(tail)
    },
    async *list(prefix) {
      for await (const { Key } of multipartUploads(bucket, `${prefix}/`)) yield Key
      for await (const tail of bucket.objects().list(tailFolder(prefix)))
        yield `${prefix}/${basename(dirname(tail))}`
    },
  }
}

/** Beside the objects, not among them: a listing of the objects does not show it. */
function tailFolder(prefix: string): string {
  return `${prefix}-unfinished`
}

function tailsOf(key: string): string {
  return `${tailFolder(dirname(key))}/${basename(key)}`
}

class ObjectAppending implements Appending {
  readonly #bucket: Bucket
  readonly #object: PartialObject
  readonly #partBytes: number
  #multipartId: string | null
  /** The end of what the bucket has in whole parts. */
  #inParts: number
  #parts: StoredPart[] = []
  #spool: Spool
  /** Of what is in the spool: the only checksum that every store compares, for parts too. */
  #md5: Hash
  #start: Buffer = Buffer.alloc(0)
  #replaced: string[] = []
  #tail: string | null

  private constructor(bucket: Bucket, object: PartialObject) {
    this.#bucket = bucket
    this.#object = object
    this.#partBytes = partBytesOf(object.sizeBytes)
    this.#multipartId = object.multipartId
    this.#tail = object.tail
    this.#inParts = object.offset - (object.offset % this.#partBytes)
    this.#spool = this.#newSpool()
    this.#md5 = createHash('md5')
  }

  static async open(bucket: Bucket, object: PartialObject): Promise<ObjectAppending> {
    const appending = new ObjectAppending(bucket, object)
    try {
      await appending.#loadTail()
    } catch (error) {
      await appending[Symbol.asyncDispose]()
      throw error
    }
    return appending
  }

  async #loadTail(): Promise<void> {
    const expected = this.#object.offset - this.#inParts
    if (expected === 0) return
    const bytes = this.#tail === null ? undefined : await this.#bucket.objects().open(this.#tail)
    try {
      for await (const chunk of bytes ?? []) await this.#collect(Buffer.from(chunk))
    } catch (error) {
      throw asStorageFault(error)
    }
    if (this.#spool.sizeBytes !== expected)
      throw storageUnavailable({ cause: new Error('The last bytes of an upload are gone') })
  }

  #newSpool(): Spool {
    return new Spool(this.#bucket.spoolFolder, { sha256: false })
  }

  #collect(bytes: Buffer): Promise<void> | undefined {
    if (this.#inParts === 0 && this.#start.length < HEAD_BYTES)
      this.#start = Buffer.concat([this.#start, bytes]).subarray(0, HEAD_BYTES)
    this.#md5.update(bytes)
    return this.#spool.write(bytes)
  }

  write(bytes: Buffer): Promise<void> | undefined {
    const room = this.#partBytes - this.#spool.sizeBytes
    // The last part waits for `keep`: an object of exactly one part is not put together from parts.
    if (bytes.length <= room) return this.#collect(bytes)
    return this.#writeAcross(bytes, room)
  }

  async #writeAcross(bytes: Buffer, room: number): Promise<void> {
    if (room > 0) await this.#collect(bytes.subarray(0, room))
    await this.#sendPart()
    const rest = bytes.subarray(room)
    await (rest.length <= this.#partBytes
      ? this.#collect(rest)
      : this.#writeAcross(rest, this.#partBytes))
  }

  /** A part of this number that an earlier turn did not get recorded is replaced. */
  async #sendPart(): Promise<void> {
    const { Bucket, answerMs } = this.#bucket
    const { s3, sdk } = await this.#bucket.store()
    const Key = this.#object.key
    const UploadId = await this.#beginMultipart()
    const PartNumber = this.#inParts / this.#partBytes + 1
    const content = this.#spool
    await content.finish()
    const ContentMD5 = this.#md5.digest('base64')
    const { ETag } = await sendContent(content, answerMs, (Body, options) =>
      s3.send(
        new sdk.UploadPartCommand({
          ...{ Bucket, Key, UploadId, PartNumber, Body, ContentMD5 },
          ContentLength: content.sizeBytes,
        }),
        options,
      ),
    )
    failPoint('partial:part')
    this.#parts.push({ number: PartNumber, etag: ETag ?? '' })
    this.#inParts += content.sizeBytes
    this.#spool = this.#newSpool()
    this.#md5 = createHash('md5')
    await content[Symbol.asyncDispose]()
  }

  async #beginMultipart(): Promise<string> {
    if (this.#multipartId !== null) return this.#multipartId
    const { Bucket } = this.#bucket
    const { key: Key, contentType: ContentType } = this.#object
    const { s3, sdk, ask } = await this.#bucket.store()
    const command = new sdk.CreateMultipartUploadCommand({ Bucket, Key, ContentType })
    const { UploadId } = await orUnavailable(ask((options) => s3.send(command, options)))
    if (!UploadId) throw storageUnavailable({ cause: new Error('The store began no upload') })
    failPoint('partial:begun')
    this.#multipartId = UploadId
    return UploadId
  }

  async checkpoint(): Promise<Kept> {
    const inTail = this.#object.offset > this.#inParts
    return inTail ? this.#kept(this.#object.offset, this.#tail) : this.#kept(this.#inParts, null)
  }

  async keep(): Promise<Kept> {
    const end = this.#inParts + this.#spool.sizeBytes
    if (end === this.#object.sizeBytes) {
      if (this.#multipartId === null) await this.#putAs(this.#object.key)
      else await this.#sendPart()
      return this.#kept(end, null)
    }
    if (this.#spool.sizeBytes === this.#partBytes) await this.#sendPart()
    if (this.#spool.sizeBytes === 0) return this.#kept(end, null)
    const tail = `${tailsOf(this.#object.key)}/${end}-${randomUUID()}`
    await this.#putAs(tail)
    failPoint('partial:tail')
    return this.#kept(end, tail)
  }

  #kept(offset: number, tail: string | null): Kept {
    if (this.#tail !== null && this.#tail !== tail) this.#replaced.push(this.#tail)
    this.#tail = tail
    return { offset, tail, multipartId: this.#multipartId, parts: this.#parts.splice(0) }
  }

  async #putAs(Key: string): Promise<void> {
    const { Bucket, answerMs } = this.#bucket
    const { s3, sdk } = await this.#bucket.store()
    const content = this.#spool
    await content.finish()
    const ContentMD5 = this.#md5.digest('base64')
    await sendContent(content, answerMs, (Body, options) =>
      s3.send(
        new sdk.PutObjectCommand({
          ...{ Bucket, Key, Body, ContentMD5 },
          ContentLength: content.sizeBytes,
          ContentType: this.#object.contentType,
        }),
        options,
      ),
    )
  }

  async tidy(): Promise<void> {
    for (const tail of this.#replaced.splice(0)) await this.#bucket.objects().remove(tail)
  }

  async readStart(length: number): Promise<Buffer> {
    return this.#start.subarray(0, length)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spool[Symbol.asyncDispose]()
  }
}

/** A reply that was lost may have been to a call that succeeded: then the object is there. */
async function complete(
  { Bucket, answerMs, store, objects }: Bucket,
  { key: Key, multipartId, sizeBytes }: PartialObject,
  parts: StoredPart[],
): Promise<void> {
  if (multipartId !== null) {
    const { s3, sdk, ask } = await store()
    const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }))
    const command = new sdk.CompleteMultipartUploadCommand({
      ...{ Bucket, Key, UploadId: multipartId, MultipartUpload: { Parts } },
    })
    const limitMs = answerMs + sizeBytes / STORED_BYTES_PER_MS
    const completing = ask(
      (options) => s3.send(command, { ...options, requestTimeout: 0 }),
      limitMs,
    )
    await orUnavailable(completing.catch(ignoreUnknownUpload))
    failPoint('partial:completed')
  }
  if ((await objects().sizeOf(Key)) !== sizeBytes)
    throw storageUnavailable({ cause: new Error('The bytes of an upload are gone') })
}

function ignoreUnknownUpload(error: unknown): void {
  if (faultCode(error) !== 'NoSuchUpload') throw error
}

type MultipartUpload = { Key: string; UploadId: string }

async function* multipartUploads(
  { Bucket, store }: Bucket,
  Prefix: string,
): AsyncGenerator<MultipartUpload> {
  const { s3, sdk, ask } = await store()
  let from: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {}
  for (;;) {
    const command = new sdk.ListMultipartUploadsCommand({ Bucket, Prefix, ...from })
    const page = await orUnavailable(ask((options) => s3.send(command, options)))
    for (const { Key, UploadId } of page.Uploads ?? []) if (Key && UploadId) yield { Key, UploadId }
    if (!page.IsTruncated) return
    from = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
  }
}

async function abort({ Bucket, store }: Bucket, Key: string, UploadId: string): Promise<void> {
  const { s3, sdk, ask } = await store()
  const command = new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })
  await orAbsent(ask((options) => s3.send(command, options)))
}
