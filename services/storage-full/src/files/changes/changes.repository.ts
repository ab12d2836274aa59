import { forUpdate } from '@plinth/kit/database'
import type { Updateable } from 'kysely'
import type { StorageDb, StorageTables } from '../../database/tables.ts'
import { deleteWords, insertWords } from '../words.repository.ts'

/** What the words of a file are made of, and who owns them. */
export type Described = {
  id: number
  ownerId: string
  originalFilename: string
  tags: string | null
  words: string | null
}

/** Locks the file until the end of the transaction; undefined when it is not stored any more. */
export async function lockStored(db: StorageDb, id: number): Promise<Described | undefined> {
  const query = db
    .selectFrom('files')
    .select(['id', 'owner_id as ownerId', 'original_filename as originalFilename', 'tags', 'words'])
    .where('id', '=', id)
    .where('state', '=', 'stored')
  return forUpdate(db, query).executeTakeFirst()
}

/** Of a file that is locked. */
export async function updateFile(
  db: StorageDb,
  { id, ownerId, words }: Described,
  change: Updateable<StorageTables['files']>,
): Promise<void> {
  await db.updateTable('files').set(change).where('id', '=', id).execute()
  if (change.words === undefined || change.words === words) return
  await deleteWords(db, { id, ownerId, words })
  await insertWords(db, { id, ownerId, words: change.words })
}
