import type { FirstEvent } from '@plinth/events'
import { databaseTime, fromRow, inTransaction, prepared } from '@plinth/kit/database'
import { type NotNull, type Selectable, sql } from 'kysely'
import type { StorageDb, StorageTables, UploadState } from '../database/tables.ts'
import { createdFolder } from '../files/folders/folders.repository.ts'
import type { NewFile } from '../files/storage.ts'
import { insertReserved, reserveRoom } from '../files/usage/counted-files.repository.ts'
import { type Quota, subtractUsage } from '../files/usage/usage.repository.ts'
import type { Kept, StoredPart } from '../locations/providers/partial.ts'
import type { Location } from '../locations/providers/provider.ts'

type UploadRow = Selectable<StorageTables['uploads']>

/** An upload that arrives in several requests. */
export type Upload = {
  id: string
  ownerId: string
  ownerName: string
  filename: string
  declaredType: string
  metadata: string
  sha256: string | null
  folder: string
  length: number
  offset: number
  location: Location
  objectName: string
  multipartId: string | null
  tail: string | null
  state: UploadState
  fileId: number | null
  isHeld: boolean
  fence: number
  wasSeized: boolean
  createdAt: string
  expiresAt: string
  /** The file whose content it replaces. */
  replaces: number | null
  ifMatch: string | null
  /** Whose quota it counts in, if not its creator's. */
  quotaOwnerId: string | null
}

type NewUpload = Pick<
  Upload,
  | ('id' | 'ownerId' | 'ownerName' | 'filename' | 'declaredType' | 'metadata' | 'sha256')
  | ('folder' | 'length' | 'location' | 'objectName' | 'createdAt' | 'expiresAt')
  | ('replaces' | 'ifMatch' | 'quotaOwnerId')
>

type Limits = { quota: Quota; mostUploads: number }

/**
 * Reserves the length and one file in the owner's quota, for a replacement only the length. The reservation locks the totals of the owner, so that the
 * uploads are counted one creation at a time.
 */
export async function insertUpload(
  db: StorageDb,
  upload: NewUpload,
  { quota, mostUploads }: Limits,
): Promise<'created' | 'over quota' | 'too many'> {
  const creating = inTransaction(db, async (inside) => {
    const added = { files: upload.replaces === null ? 1 : 0, bytes: upload.length }
    if (!(await reserveRoom(inside, quotaOwnerOf(upload), added, quota)))
      throw new RefusedError('over quota')
    const { count } = await inside
      .selectFrom('uploads')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('owner_id', '=', upload.ownerId)
      .where('state', '=', 'receiving')
      .executeTakeFirstOrThrow()
    if (Number(count) >= mostUploads) throw new RefusedError('too many')
    await inside.insertInto('uploads').values(rowOf(upload)).execute()
    return 'created' as const
  })
  return creating.catch((error) => {
    if (error instanceof RefusedError) return error.reason
    throw error
  })
}

function quotaOwnerOf({ ownerId, quotaOwnerId }: Pick<Upload, 'ownerId' | 'quotaOwnerId'>): string {
  return quotaOwnerId ?? ownerId
}

/** Rolls back what was reserved. */
class RefusedError extends Error {
  readonly reason: 'over quota' | 'too many'

  constructor(reason: 'over quota' | 'too many') {
    super(reason)
    this.reason = reason
  }
}

function rowOf(upload: NewUpload): UploadRow {
  return {
    id: upload.id,
    owner_id: upload.ownerId,
    owner_name: upload.ownerName,
    filename: upload.filename,
    declared_type: upload.declaredType,
    metadata: upload.metadata,
    sha256: upload.sha256,
    folder: upload.folder,
    length: upload.length,
    received: 0,
    location_id: upload.location.id,
    object_name: upload.objectName,
    multipart_id: null,
    tail: null,
    state: 'receiving',
    file_id: null,
    holder: null,
    held_until_ms: 0,
    fence: 0,
    wanted: 0,
    seized: 0,
    created_at: upload.createdAt,
    expires_at: upload.expiresAt,
    replaces: upload.replaces,
    if_match: upload.ifMatch,
    quota_owner_id: upload.quotaOwnerId,
  }
}

const byId = prepared((db: StorageDb, { id }: { id: string }) =>
  selectUploads(db).where('uploads.id', '=', id),
)

export async function findUpload(db: StorageDb, id: string): Promise<Upload | undefined> {
  const [row] = await byId(db, { id })
  return row && uploadOf(row)
}

function selectUploads(db: StorageDb) {
  return db
    .selectFrom('uploads')
    .leftJoin('storage_locations', 'storage_locations.id', 'uploads.location_id')
    .selectAll('uploads')
    .select(['provider', 'prefix', 'sealed_settings'])
    .$narrowType<{ provider: NotNull; prefix: NotNull; sealed_settings: NotNull }>()
}

type JoinedRow = Awaited<ReturnType<ReturnType<typeof selectUploads>['execute']>>[number]

function uploadOf(row: JoinedRow): Upload {
  const { locationId, provider, prefix, sealedSettings, ...rest } = fromRow(row)
  const { received, holder, heldUntilMs: _until, wanted: _wanted, seized, ...upload } = rest
  return {
    ...upload,
    offset: received,
    isHeld: holder !== null,
    wasSeized: seized === 1,
    location: { id: locationId, provider, prefix, sealedSettings },
  }
}

export type UploadFilter = {
  ownerId?: string | undefined
  state?: UploadState
  expiredAt?: Date
  limit: number
}

/** Newest first. */
export async function listUploads(db: StorageDb, filter: UploadFilter): Promise<Upload[]> {
  const { ownerId, state, expiredAt, limit } = filter
  const rows = await selectUploads(db)
    .$if(ownerId !== undefined, (some) => some.where('owner_id', '=', ownerId ?? ''))
    .$if(state !== undefined, (some) => some.where('state', '=', state ?? 'receiving'))
    .$if(expiredAt !== undefined, (some) =>
      some.where('expires_at', '<=', expiredAt?.toISOString() ?? ''),
    )
    .orderBy('uploads.created_at', 'desc')
    .orderBy('uploads.id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(uploadOf)
}

/** Those of `names` at this location that belong to an upload whose bytes are not a file yet. */
export async function findUploadNames(
  db: StorageDb,
  locationId: number,
  names: string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const rows = await db
    .selectFrom('uploads')
    .select('object_name')
    .where('location_id', '=', locationId)
    .where('state', '!=', 'finished')
    .where('object_name', 'in', names)
    .execute()
  return new Set(rows.map((row) => row.object_name))
}

/** `waiting`: those whose bytes are all there. */
export async function sumUploads(
  db: StorageDb,
): Promise<{ uploads: number; bytes: number; waiting: number }> {
  const row = await db
    .selectFrom('uploads')
    .select(({ fn }) => [
      fn.countAll<number>().as('uploads'),
      fn.sum<number | null>('received').as('bytes'),
      fn.countAll<number>().filterWhereRef('received', '=', 'length').as('waiting'),
    ])
    .where('state', '=', 'receiving')
    .executeTakeFirstOrThrow()
  const { uploads, bytes, waiting } = row
  return { uploads: Number(uploads), bytes: Number(bytes ?? 0), waiting: Number(waiting) }
}

type Hold = { id: string; holder: string; forMs: number }

/** Takes the upload if no request has it, or if its holder has stopped renewing. One statement, so one winner. */
export async function claimUpload(
  db: StorageDb,
  { id, holder, forMs }: Hold,
): Promise<{ fence: number } | undefined> {
  const now = databaseTime(db)
  return db
    .updateTable('uploads')
    .set({
      holder,
      held_until_ms: sql<number>`${now} + ${forMs}`,
      fence: sql<number>`fence + 1`,
      wanted: 0,
      seized: sql<number>`case when holder is null then seized else 1 end`,
    })
    .where('id', '=', id)
    .where('state', '=', 'receiving')
    .where((row) => row.or([row('holder', 'is', null), row('held_until_ms', '<=', now)]))
    .returning('fence')
    .executeTakeFirst()
}

/** Renews all uploads that a process has, and returns those that another request waits for. */
export async function renewHolds(
  db: StorageDb,
  holder: string,
  forMs: number,
): Promise<{ id: string; fence: number; isWanted: boolean }[]> {
  const now = databaseTime(db)
  const rows = await db
    .updateTable('uploads')
    .set({ held_until_ms: sql<number>`${now} + ${forMs}` })
    .where('holder', '=', holder)
    .returning(['id', 'fence', 'wanted'])
    .execute()
  return rows.map(({ id, fence, wanted }) => ({ id, fence, isWanted: wanted === 1 }))
}

const want = prepared((db: StorageDb, { id }: { id: string }) =>
  db.updateTable('uploads').set({ wanted: 1 }).where('id', '=', id),
)

export async function askToLetGo(db: StorageDb, id: string): Promise<void> {
  await want(db, { id })
}

type Held = Pick<Upload, 'id' | 'fence'>

const letGo = prepared((db: StorageDb, { id, fence }: Held) =>
  db.updateTable('uploads').set({ holder: null }).where('id', '=', id).where('fence', '=', fence),
)

export async function releaseHold(db: StorageDb, { id, fence }: Held): Promise<void> {
  await letGo(db, { id, fence })
}

/** The bytes count from here on. False when the holder has lost the upload. */
export async function updateProgress(
  db: StorageDb,
  { id, fence }: Held,
  { offset, multipartId, tail, parts, expiresAt }: Kept & { expiresAt: string },
): Promise<boolean> {
  return inTransaction(db, async (inside) => {
    const { numUpdatedRows } = await inside
      .updateTable('uploads')
      .set({ received: offset, multipart_id: multipartId, tail, expires_at: expiresAt })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('state', '=', 'receiving')
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    // A part that a turn could not record is sent again, with a new tag.
    if (parts.length > 0)
      await inside
        .insertInto('upload_parts')
        .values(parts.map((part) => ({ ...part, upload_id: id })))
        .onConflict((conflict) =>
          conflict
            .columns(['upload_id', 'number'])
            .doUpdateSet((row) => ({ etag: row.ref('excluded.etag') })),
        )
        .execute()
    return true
  })
}

export async function listParts(db: StorageDb, uploadId: string): Promise<StoredPart[]> {
  return db
    .selectFrom('upload_parts')
    .select(['number', 'etag'])
    .where('upload_id', '=', uploadId)
    .orderBy('number')
    .execute()
}

class LostHoldError extends Error {}

/** `paths`: of the folder of the file, and of all above it. */
type FinishedFile = {
  file: NewFile
  paths: string[]
  tooMany: () => Error
  event: FirstEvent
  expiresAt: string
}

/** What the upload has reserved becomes the file. Undefined, and nothing changed, when the hold is lost. */
export async function insertFinished(
  db: StorageDb,
  held: Held,
  { file, paths, tooMany, event, expiresAt }: FinishedFile,
): Promise<number | undefined> {
  const finishing = inTransaction(db, async (inside) => {
    const now = new Date(file.createdAt)
    const folderId = await createdFolder(inside, { ownerId: file.ownerId, paths, now, tooMany })
    const fileId = await insertReserved(inside, { ...file, folderId }, event)
    if (!(await markFinished(inside, held, { fileId, expiresAt }))) throw new LostHoldError()
    return fileId
  })
  return finishing.catch((error) => {
    if (error instanceof LostHoldError) return undefined
    throw error
  })
}

/** False when the hold is lost. From here on what the upload has reserved is counted as the file. */
export async function markFinished(
  db: StorageDb,
  { id, fence }: Held,
  { fileId, expiresAt }: { fileId: number; expiresAt: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('uploads')
    .set({ state: 'finished', file_id: fileId, holder: null, tail: null, expires_at: expiresAt })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('state', '=', 'receiving')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends an upload and gives back what it has reserved. False when it was not unfinished any more. */
export async function markEnded(
  db: StorageDb,
  id: string,
  condition: { fence?: number; expiredAt?: Date } = {},
): Promise<boolean> {
  const { fence, expiredAt } = condition
  const now = databaseTime(db)
  return inTransaction(db, async (inside) => {
    const ended = await inside
      .updateTable('uploads')
      .set({ state: 'ended', holder: null, fence: sql<number>`fence + 1` })
      .where('id', '=', id)
      .where('state', '=', 'receiving')
      .$if(fence !== undefined, (some) => some.where('fence', '=', fence ?? 0))
      .$if(expiredAt !== undefined, (some) =>
        some
          .where('expires_at', '<=', expiredAt?.toISOString() ?? '')
          // A request that has it may be about to receive more.
          .where((row) => row.or([row('holder', 'is', null), row('held_until_ms', '<=', now)])),
      )
      .returning(['owner_id', 'quota_owner_id', 'replaces', 'length'])
      .executeTakeFirst()
    if (!ended) return false
    const { ownerId, quotaOwnerId, replaces, length } = fromRow(ended)
    const reserved = { files: replaces === null ? 1 : 0, bytes: length }
    await subtractUsage(inside, quotaOwnerOf({ ownerId, quotaOwnerId }), reserved)
    return true
  })
}

/** Not of an upload that still reserves something. Returns whether there was one. */
export async function deleteUpload(db: StorageDb, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('uploads')
    .where('id', '=', id)
    .where('state', '!=', 'receiving')
    .executeTakeFirst()
  return numDeletedRows > 0n
}
