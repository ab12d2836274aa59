/** The bucket that archives are copied to, so that they outlive this machine. */

import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import {
  BackupError,
  type KeptBackup,
  keptBackup,
  oldBackups,
  type Retention,
} from '@plinth/backup'
import { DAY_MS } from '@plinth/kit/runtime'
import { createObjectProvider, openObjectClient } from '@plinth/storage-full'
import { type BucketConfig, IN_BUCKET } from '../config.ts'

export type BackupBucket = {
  /** Newest first. */
  list(): Promise<KeptBackup[]>
  /** Copies an archive, and returns its name in the bucket: `bucket:plinth-….tar.zst`. */
  put(file: string): Promise<string>
  open(name: string): Promise<{ input: Readable; bytes: number }>
  /** Deletes the archives that are not to be kept. */
  prune(retention: Retention): Promise<KeptBackup[]>
  close(): void
}

/** The operator has named the store, so it may be anywhere. */
const ACCESS = { connectMs: 5_000, answerMs: 60_000, isForbidden: () => false }

export function openBucket(config: BucketConfig): BackupBucket {
  const { prefix, ...settings } = config
  const store = createObjectProvider(settings, ACCESS, prefix)
  const keyOf = (name: string) => `${prefix}/${name.replace(IN_BUCKET, '')}`
  const sizeOf = (key: string) => naming(settings.bucket, store.sizeOf(key))
  const list = async () => {
    const kept: KeptBackup[] = []
    for (const key of await naming(settings.bucket, Array.fromAsync(store.list(prefix)))) {
      const found = keptBackup(basename(key), `${IN_BUCKET}${basename(key)}`)
      if (found) kept.push({ ...found, bytes: (await sizeOf(key)) ?? 0 })
    }
    return kept.sort((left, right) => right.createdAt.localeCompare(left.createdAt))
  }
  return {
    list,
    async put(file) {
      const name = basename(file)
      const bytes = await naming(settings.bucket, upload(file, config, keyOf(name)))
      if ((await sizeOf(keyOf(name))) !== bytes)
        throw new BackupError(
          'unavailable',
          `The bucket ${settings.bucket} has kept only a part of ${name}.`,
        )
      return `${IN_BUCKET}${name}`
    },
    async open(name) {
      const bytes = await sizeOf(keyOf(name))
      if (bytes !== undefined) {
        const input = await naming(settings.bucket, store.open(keyOf(name)))
        if (input) return { input, bytes }
      }
      throw new BackupError(
        'no-input',
        `${name} cannot be read: the bucket ${settings.bucket} does not have it.`,
      )
    },
    async prune(retention) {
      const old = oldBackups(await list(), retention)
      for (const { file } of old) await naming(settings.bucket, store.remove(keyOf(file)))
      return old
    },
    close: () => store.close(),
  }
}

const PART_BYTES = 16 * 2 ** 20
/** A store takes at most 10,000. */
const MAX_PARTS = 9_000

/**
 * In parts, of which one is in memory at a time; the archive appears in the bucket only when it is complete. Returns
 * its size.
 */
async function upload(
  file: string,
  { prefix, ...settings }: BucketConfig,
  Key: string,
): Promise<number> {
  const client = await openObjectClient(settings, ACCESS)
  const { sdk, s3 } = client
  const target = { Bucket: settings.bucket, Key }
  const handle = await open(file)
  try {
    const { size, mtimeMs } = await handle.stat()
    await abortOld(client, target.Bucket, prefix, mtimeMs - DAY_MS)
    const { UploadId } = await s3.send(new sdk.CreateMultipartUploadCommand(target))
    const Parts: { PartNumber: number; ETag: string | undefined }[] = []
    const partBytes = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS))
    try {
      for (let start = 0; start < size; start += partBytes) {
        const PartNumber = Parts.length + 1
        const Body = await readPart(handle, start, Math.min(partBytes, size - start))
        const part = { ...target, UploadId, PartNumber, Body }
        const { ETag } = await s3.send(new sdk.UploadPartCommand(part))
        Parts.push({ PartNumber, ETag })
      }
      const whole = { ...target, UploadId, MultipartUpload: { Parts } }
      await s3.send(new sdk.CompleteMultipartUploadCommand(whole))
    } catch (error) {
      const abort = new sdk.AbortMultipartUploadCommand({ ...target, UploadId })
      // A store that cannot be reached refuses this as well; `abortOld` repeats it, and the first error says why.
      await s3.send(abort).catch(() => {})
      throw error
    }
    return size
  } finally {
    await handle.close()
    s3.destroy()
  }
}

/** One read may return fewer bytes than there are. */
async function readPart(handle: FileHandle, start: number, length: number): Promise<Buffer> {
  const part = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await handle.read(part, read, length - read, start + read)
    if (bytesRead === 0)
      throw new BackupError('damaged', 'The archive became shorter while it was copied.')
    read += bytesRead
  }
  return part
}

/** The parts of an upload that was killed take up room, and are listed nowhere else. */
async function abortOld(
  { sdk, s3 }: Awaited<ReturnType<typeof openObjectClient>>,
  Bucket: string,
  prefix: string,
  before: number,
): Promise<void> {
  const { Uploads = [] } = await s3.send(
    new sdk.ListMultipartUploadsCommand({ Bucket, Prefix: `${prefix}/` }),
  )
  for (const { Key, UploadId, Initiated } of Uploads)
    if (Initiated && Initiated.getTime() < before)
      await s3.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
}

/** The errors of the store contain its answer, which may contain more than the operator should see in a log. */
async function naming<T>(bucket: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof BackupError) throw error
    const { name, cause } = error as Error & { cause?: Error }
    const why = cause?.message ?? `it answered ${name}`
    throw new BackupError('unavailable', `The bucket ${bucket} cannot be used: ${why}.`)
  }
}
