import { objectNameOf, type Storage } from '../files/storage.ts'
import { listLocations } from '../locations/locations.ts'
import type { Location } from '../locations/providers/provider.ts'
import {
  deleteUpload,
  findUploadNames,
  listUploads,
  markEnded,
  type Upload,
  type UploadFilter,
} from './uploads.repository.ts'
import { removeBytes } from './uploads.ts'

const UPLOADS_AT_ONCE = 200

/** Frees what expired uploads reserve and occupy, and forgets finished ones after their time. */
export async function expireUploads(storage: Storage, signal?: AbortSignal): Promise<void> {
  const { db, clock, withReserve } = storage
  const expiredAt = clock()
  await whileSome(storage, { state: 'receiving', expiredAt }, signal, ({ id }) =>
    withReserve(() => markEnded(db, id, { expiredAt })),
  )
  await whileSome(storage, { state: 'finished', expiredAt }, signal, ({ id }) =>
    withReserve(() => deleteUpload(db, id)),
  )
  await removeEnded(storage, signal)
}

/** Runs `work` for all that match, a few hundred at a time, until none is left for which it succeeds. */
async function whileSome(
  { db }: Storage,
  filter: Omit<UploadFilter, 'limit'>,
  signal: AbortSignal | undefined,
  work: (upload: Upload) => Promise<boolean>,
): Promise<void> {
  for (let progress = true; progress; ) {
    const uploads = await listUploads(db, { ...filter, limit: UPLOADS_AT_ONCE })
    progress = false
    for (const upload of uploads) {
      if (signal?.aborted) return
      if (await work(upload)) progress = true
    }
  }
}

/** One that a store keeps from being removed stays, and is tried again. */
async function removeEnded(storage: Storage, signal?: AbortSignal): Promise<void> {
  for (const upload of await listUploads(storage.db, { state: 'ended', limit: UPLOADS_AT_ONCE })) {
    if (signal?.aborted) return
    await removeBytes(storage, upload).catch((error) =>
      storage.log.warn({ err: error, upload: upload.id }, 'an ended upload could not be removed'),
    )
  }
}

/** For operators: the unfinished uploads of every owner, newest first. */
export async function allUploads({ db }: Storage, limit: number) {
  const uploads = await listUploads(db, { state: 'receiving', limit })
  return uploads.map((upload) => {
    const { id, ownerName: owner, offset, length, createdAt, expiresAt, filename } = upload
    return {
      id,
      owner,
      offset,
      length,
      provider: upload.location.provider,
      createdAt,
      expiresAt,
      filename,
    }
  })
}

/** For operators: ends one of them, even while a client sends it. False when there is none with this id. */
export async function abortUpload(storage: Storage, id: string): Promise<boolean> {
  const ended = await storage.withReserve(() => markEnded(storage.db, id))
  await removeEnded(storage)
  return ended
}

/** Ends every upload of an owner who is erased, also those that only remember a finished one. */
export async function eraseUploads(storage: Storage, ownerId: string): Promise<void> {
  const { db, withReserve } = storage
  await whileSome(storage, { ownerId, state: 'receiving' }, undefined, ({ id }) =>
    withReserve(() => markEnded(db, id)),
  )
  await whileSome(storage, { ownerId, state: 'finished' }, undefined, ({ id }) =>
    withReserve(() => deleteUpload(db, id)),
  )
  await removeEnded(storage)
}

/**
 * Received bytes that belong to no upload: a request that had lost its upload may have stored them late. A row
 * is there before the first byte and until after the last, so bytes that were listed before their row was missed
 * belong to no upload.
 */
export async function* leftoversAt(
  { db, providers }: Storage,
  location: Location,
): AsyncGenerator<string> {
  const { partial } = providers.at(location)
  const keys = new Set(await Array.fromAsync(partial.list(location.prefix)))
  for (const key of keys) {
    const name = objectNameOf(key)
    const known = await findUploadNames(db, location.id, [name])
    if (!known.has(name)) yield key
  }
}

/** Removes what belongs to no upload. */
export async function sweepUploads(storage: Storage, signal?: AbortSignal): Promise<void> {
  for (const location of await listLocations(storage.db)) {
    const { partial } = storage.providers.at(location)
    try {
      for await (const key of leftoversAt(storage, location)) {
        if (signal?.aborted) return
        await partial.discard(key)
      }
    } catch (error) {
      storage.log.warn({ err: error, location: location.id }, 'leftover uploads could not be swept')
    }
  }
}
