import type { StorageDb } from '../../database/tables.ts'
import { trashedFiles, trashedVersions } from '../deletions/deletions.repository.ts'
import { reservedRow, usageRow, versionsRow } from './usage.repository.ts'

/**
 * Everything an owner has, of one moment: read one after the other, a file that is restored or an upload that ends in
 * between would count twice or not at all.
 */
export async function findFigures(
  db: StorageDb,
  ownerId: string,
  trash: { deletedBy: string | undefined; now: Date },
) {
  const filter = { ownerId, deletedBy: trash.deletedBy }
  const row = await db
    .with('reserved', () => reservedRow(db, ownerId))
    .with('kept', () => versionsRow(db, ownerId))
    .with('trashed', () => trashedFiles(db, filter, trash.now))
    .with('trashed_versions', () => trashedVersions(db, filter, trash.now))
    .with('used', () => usageRow(db, ownerId))
    .selectFrom(['reserved', 'kept', 'trashed', 'trashed_versions'])
    .leftJoin('used', (join) => join.onTrue())
    .select([
      'used.files',
      'used.bytes',
      'reserved.files as uploadingFiles',
      'reserved.bytes as uploadingBytes',
      'trashed.files as trashFiles',
      'trashed.bytes as trashBytes',
      'trashed_versions.bytes as trashVersionBytes',
      'kept.bytes as versionBytes',
    ])
    .executeTakeFirstOrThrow()
  return {
    files: Number(row.files ?? 0),
    bytes: Number(row.bytes ?? 0),
    uploadingFiles: Number(row.uploadingFiles),
    uploadingBytes: Number(row.uploadingBytes ?? 0),
    trashFiles: Number(row.trashFiles),
    trashBytes: Number(row.trashBytes ?? 0) + Number(row.trashVersionBytes ?? 0),
    versionBytes: Number(row.versionBytes ?? 0),
  }
}
