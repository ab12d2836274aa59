import { createHash, type Hash } from 'node:crypto'
import type { Origin } from '@plinth/accounts'
import {
  fileTypeMismatch,
  HEAD_BYTES,
  requireClaimedType,
  requireSignature,
  uploadAborted,
  uploadTooLarge,
  uploadTooSlow,
} from '@plinth/kit/files'
import type { Caller } from '@plinth/kit/http'
import { failPoint, secondsAfter } from '@plinth/kit/runtime'
import { asStorageFault } from '../locations/problems.ts'
import type { Appending, Kept } from '../locations/providers/partial.ts'
import { finishUpload, PASSING } from './finish.ts'
import type { HeldUpload } from './holds.ts'
import { chunkChecksumMismatch, offsetMismatch, uploadLocked, uploadWaiting } from './problems.ts'
import { updateProgress } from './uploads.repository.ts'
import { endUpload, partialOf, requireUpload, type Upload, type Uploads } from './uploads.ts'

/** A crash in the middle of a long request costs no more than about this. */
const MAX_UNCOUNTED_BYTES = 64 * 1024 * 1024

/** Bytes on their way in. */
export type Incoming = {
  /** Where the client believes the upload to be. */
  offset: number
  /** Undefined when the client has not said how many there are. */
  sizeBytes: number | undefined
  /** The checksum of these bytes: they count if it matches, all or none. */
  checksum: { algorithm: 'sha1' | 'sha256'; digest: Buffer } | undefined
  startedAt: Date
  origin: Origin
  /** Passes the bytes on, and fails if there are more than `maxBytes`. */
  receive(maxBytes: number, take: (chunk: Buffer) => Promise<unknown> | undefined): Promise<unknown>
}

/**
 * Adds bytes to an upload, and makes a file of it when they are the last. What arrived of a body that breaks off
 * counts; the answer comes when everything that counts is durable.
 */
export async function appendToUpload(
  uploads: Uploads,
  caller: Caller,
  id: string,
  incoming: Incoming,
): Promise<Upload> {
  const { storage, holds } = uploads
  await requireUpload(storage, caller, id)
  const appended = await holds.withHold(id, async (upload) => {
    requirePlace(upload, incoming)
    const isComplete = upload.offset === upload.length
    const grown = isComplete ? upload : await receive(uploads, upload, incoming)
    const { startedAt, origin } = incoming
    if (grown.offset === grown.length)
      await finishUpload(uploads, grown, { startedAt, caller, origin })
    return true
  })
  const upload = await requireUpload(storage, caller, id)
  if (!appended) requirePlace(upload, incoming)
  return upload
}

/**
 * Where the upload is. A request that still has it is asked to let go, so that what it received counts. When all
 * bytes are there but no file is, which a crash or an outage may leave behind, the file is made now.
 */
export async function stateOfUpload(
  uploads: Uploads,
  { caller, origin }: { caller: Caller; origin: Origin },
  id: string,
): Promise<Upload> {
  const { storage, holds } = uploads
  const upload = await requireUpload(storage, caller, id)
  const isComplete = upload.offset === upload.length
  if (upload.state === 'finished' || !(upload.isHeld || isComplete)) return upload
  const startedAt = storage.clock()
  await holds.withHold(id, async (held) => {
    if (held.offset === held.length)
      await finishUpload(uploads, held, { startedAt, caller, origin }).catch(keepWaiting)
  })
  return requireUpload(storage, caller, id)
}

/** To any other failure of HEAD a tus client answers with a new upload, which begins at its first byte. */
function keepWaiting(error: unknown): never {
  if (!PASSING.some((problem) => problem.is(error))) throw error
  throw uploadWaiting({ cause: error })
}

function requirePlace({ offset, length }: Upload, incoming: Incoming): void {
  if (incoming.offset !== offset)
    throw offsetMismatch({ headers: { 'upload-offset': String(offset) } })
  if ((incoming.sizeBytes ?? 0) > length - offset) throw uploadTooLarge()
}

/** Returns the upload as it is afterwards. */
async function receive(uploads: Uploads, upload: HeldUpload, incoming: Incoming): Promise<Upload> {
  const { storage, hashes } = uploads
  const provider = storage.providers.at(upload.location)
  await using appending = await provider.partial.append(partialOf(upload))
  const turn = await openTurn(uploads, { upload, incoming, appending })
  const broken = await turn.receiveAll()
  if (broken !== undefined && !(isInterruption(broken) && turn.keepsParts)) {
    if (fileTypeMismatch.is(broken)) await endUpload(uploads, upload)
    throw broken
  }
  await upload.confirm()
  const kept = turn.end() > upload.offset ? await appending.keep() : undefined
  if (kept) await record(uploads, upload, appending, kept)
  const hash = turn.hash()
  if (hash) hashes.keep(upload.id, turn.end(), hash)
  failPoint('uploads:counted')
  if (broken !== undefined) throw broken
  return kept ? { ...upload, ...kept } : upload
}

/** The client left, was too slow, or has come back with a newer request: what arrived is as good as ever. */
function isInterruption(error: unknown): boolean {
  return uploadAborted.is(error) || uploadTooSlow.is(error) || uploadLocked.is(error)
}

type Turn = { upload: HeldUpload; incoming: Incoming; appending: Appending }

/** One request's turn at an upload. */
async function openTurn(uploads: Uploads, { upload, incoming, appending }: Turn) {
  const { storage, hashes } = uploads
  const { checksum, sizeBytes } = incoming
  const { type } = requireClaimedType(upload, storage.limits.acceptedTypes)
  const hash = hashes.take(upload.id, upload.offset)
  const chunkHash = checksum && createHash(checksum.algorithm)
  // With a checksum nothing counts before the end; nor of a body of unknown length, which may be too long.
  const keepsParts = checksum === undefined
  const countsOnTheWay = keepsParts && sizeBytes !== undefined
  let head =
    upload.offset < HEAD_BYTES ? await appending.readStart(upload.offset) : Buffer.alloc(HEAD_BYTES)
  let isHeadKnown = upload.offset >= HEAD_BYTES
  let end = upload.offset
  let counted = upload.offset

  const checkHead = () => {
    if (isHeadKnown || head.length < HEAD_BYTES) return
    isHeadKnown = true
    requireSignature(head, type)
  }
  const take = async (chunk: Buffer) => {
    if (upload.letGo.aborted) throw uploadLocked()
    await upload.confirm()
    if (!isHeadKnown) head = Buffer.concat([head, chunk]).subarray(0, HEAD_BYTES)
    if (keepsParts) checkHead()
    hash?.update(chunk)
    chunkHash?.update(chunk)
    end += chunk.length
    await appending.write(chunk)
    if (!countsOnTheWay || end - counted < MAX_UNCOUNTED_BYTES) return
    const kept = await appending.checkpoint()
    counted = end
    if (kept.offset > upload.offset) await record(uploads, upload, appending, kept)
  }

  /** Returns what ended the body before its end, if anything did. */
  const receiveAll = async (): Promise<unknown> => {
    let taking: Promise<unknown> = Promise.resolve()
    const taken = (chunk: Buffer) => {
      taking = take(chunk)
      return taking
    }
    const { promise: letGo, reject } = Promise.withResolvers<never>()
    const stop = () => reject(uploadLocked())
    upload.letGo.addEventListener('abort', stop, { once: true })
    const receiving = incoming.receive(upload.length - upload.offset, taken)
    try {
      await Promise.race([receiving, letGo])
      requireChecksum(chunkHash, checksum)
      checkHead()
      return undefined
    } catch (error) {
      // The body may still be in the middle of a piece, which must be written before anything is counted.
      await taking.catch(() => {})
      return asStorageFault(error)
    } finally {
      upload.letGo.removeEventListener('abort', stop)
      receiving.catch(() => {})
    }
  }
  return { receiveAll, keepsParts, end: () => end, hash: () => hash }
}

function requireChecksum(hash: Hash | undefined, checksum: Incoming['checksum']): void {
  if (hash && checksum && !hash.digest().equals(checksum.digest)) throw chunkChecksumMismatch()
}

async function record(
  { storage, settings }: Uploads,
  upload: HeldUpload,
  appending: Appending,
  kept: Kept,
): Promise<void> {
  const { db, clock, log } = storage
  failPoint('uploads:durable')
  const expiresAt = secondsAfter(clock(), settings.expiresSeconds).toISOString()
  const isOurs = await updateProgress(db, upload, { ...kept, expiresAt })
  if (!isOurs) throw uploadLocked()
  await appending
    .tidy()
    .catch((error) => log.warn({ err: error }, 'a replaced part of an upload could not be removed'))
}
