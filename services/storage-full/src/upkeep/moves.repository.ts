import { forUpdate } from '@plinth/kit/database'
import type { StorageDb } from '../database/tables.ts'

export type Move = Awaited<ReturnType<ReturnType<typeof selectMoves>['execute']>>[number]

type NewMove = { targetLocationId: number; total: number; requestedBy: string; now: Date }

export async function insertMove(db: StorageDb, move: NewMove): Promise<number> {
  const now = move.now.toISOString()
  const { id } = await db
    .insertInto('file_moves')
    .values({
      target_location_id: move.targetLocationId,
      state: 'RUNNING',
      total: move.total,
      moved: 0,
      failed: 0,
      moved_bytes: 0,
      cursor_id: 0,
      last_error: null,
      requested_by: move.requestedBy,
      created_at: now,
      updated_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function findMove(db: StorageDb, id: number): Promise<Move | undefined> {
  return selectMoves(db).where('file_moves.id', '=', id).executeTakeFirst()
}

export async function findRunningMove(db: StorageDb): Promise<Move | undefined> {
  return selectMoves(db).where('file_moves.state', '=', 'RUNNING').executeTakeFirst()
}

/** Whether the move is running. If so, it cannot be cancelled until this transaction ends. */
export async function lockRunningMove(db: StorageDb, id: number): Promise<boolean> {
  const row = db
    .selectFrom('file_moves')
    .select('id')
    .where('id', '=', id)
    .where('state', '=', 'RUNNING')
  return (await forUpdate(db, row).executeTakeFirst()) !== undefined
}

export async function listMoves(db: StorageDb): Promise<Move[]> {
  return selectMoves(db).orderBy('file_moves.id', 'desc').limit(50).execute()
}

function selectMoves(db: StorageDb) {
  return db
    .selectFrom('file_moves')
    .innerJoin('storage_locations', 'storage_locations.id', 'file_moves.target_location_id')
    .select([
      'file_moves.id',
      'storage_locations.provider as to',
      'file_moves.state',
      'file_moves.total',
      'file_moves.moved',
      'file_moves.failed',
      'file_moves.moved_bytes as movedBytes',
      'file_moves.last_error as lastError',
      'file_moves.requested_by as requestedBy',
      'file_moves.created_at as createdAt',
      'file_moves.updated_at as updatedAt',
      'file_moves.target_location_id as targetLocationId',
      'file_moves.cursor_id as cursorId',
      'file_moves.version_cursor_id as versionCursorId',
    ])
}

/** Files and earlier versions of files. */
export async function countElsewhere(db: StorageDb, locationId: number): Promise<number> {
  const files = await db
    .selectFrom('files')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('state', '!=', 'deleting')
    .where('location_id', '!=', locationId)
    .executeTakeFirstOrThrow()
  const versions = await db
    .selectFrom('file_versions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('state', '=', 'kept')
    .where('location_id', '!=', locationId)
    .executeTakeFirstOrThrow()
  return Number(files.count) + Number(versions.count)
}

export type Progress = {
  /** What is done now: a file, or an earlier version. */
  at: { cursor_id: number } | { version_cursor_id: number }
  moved: 0 | 1
  failed: 0 | 1
  bytes: number
  error?: string
}

/** Returns false once the move has ended: this is how a cancelled move stops. */
export async function updateProgress(
  db: StorageDb,
  moveId: number,
  { at, moved, failed, bytes, error }: Progress,
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('file_moves')
    .set((row) => ({
      moved: row('moved', '+', moved),
      failed: row('failed', '+', failed),
      moved_bytes: row('moved_bytes', '+', bytes),
      ...at,
      ...(error !== undefined && { last_error: error }),
      updated_at: now.toISOString(),
    }))
    .where('id', '=', moveId)
    .where('state', '=', 'RUNNING')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function updateMoveError(
  db: StorageDb,
  moveId: number,
  last_error: string,
  now: Date,
): Promise<void> {
  const change = { last_error, updated_at: now.toISOString() }
  await db.updateTable('file_moves').set(change).where('id', '=', moveId).execute()
}

/** Returns false, and changes nothing, when the move has ended already. */
export async function endMove(
  db: StorageDb,
  moveId: number,
  state: 'DONE' | 'CANCELLED',
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('file_moves')
    .set({ state, updated_at: now.toISOString() })
    .where('id', '=', moveId)
    .where('state', '=', 'RUNNING')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
