import { type Upload, type UploadLimits, uploadTooLarge } from '@plinth/kit/files'
import { asStorageFault } from '../locations/problems.ts'
import { MULTIPART_FRAME_BYTES, uploadLimits } from './files.ts'
import type { Storage } from './storage.ts'
import { overQuota } from './usage/usage.ts'

type Body = {
  /** Its `Content-Length`. */
  length: string | undefined
  /** How many bytes a file in a body of this size may have; throws when there is no room at all. */
  requireRoom(bodyBytes: number): Promise<number>
  receive(limits: UploadLimits): Promise<Upload>
}

/** Receives a file, as far as the quota reaches. A full or missing spool folder is a storage fault, not a bug. */
export async function receiveFile(storage: Storage, body: Body): Promise<Upload> {
  const { quota } = storage.limits
  const room = await roomFor(storage, body)
  try {
    return await body.receive(uploadLimits(storage, room))
  } catch (error) {
    if (uploadTooLarge.is(error) && room < storage.limits.maxFileBytes) throw overQuota(quota)
    throw asStorageFault(error)
  }
}

/** Skips the quota for a body over the size limit, which is refused for its size later. */
async function roomFor(storage: Storage, { length, requireRoom }: Body): Promise<number> {
  if (length === undefined) return requireRoom(Number.POSITIVE_INFINITY)
  const { maxRequestBytes } = uploadLimits(storage, Number.POSITIVE_INFINITY)
  if (Number(length) > maxRequestBytes) return Number.POSITIVE_INFINITY
  const room = await requireRoom(Number(length))
  storage.scanning.requireScannable(Number(length) - MULTIPART_FRAME_BYTES)
  return room
}
