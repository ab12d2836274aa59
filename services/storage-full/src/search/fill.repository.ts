import { forUpdate, prepared } from '@plinth/kit/database'
import type { StorageDb } from '../database/tables.ts'
import { insertWords } from '../files/words.repository.ts'

type Wordless = {
  id: number
  ownerId: string
  originalFilename: string
  tags: string | null
}

/** Files without words, which stay locked until the end of the transaction. */
export async function lockWordless(db: StorageDb, limit: number): Promise<Wordless[]> {
  const query = db
    .selectFrom('files')
    .select(['id', 'owner_id as ownerId', 'original_filename as originalFilename', 'tags'])
    .where('words', 'is', null)
    .orderBy('id')
    .limit(limit)
  return forUpdate(db, query).execute()
}

type Filled = { id: number; foldedName: string; words: string }

const update = prepared((db: StorageDb, { id, foldedName, words }: Filled) =>
  db.updateTable('files').set({ folded_name: foldedName, words }).where('id', '=', id),
)

export async function updateWords(
  db: StorageDb,
  { ownerId, ...filled }: Filled & { ownerId: string },
): Promise<void> {
  await update(db, filled)
  await insertWords(db, { id: filled.id, ownerId, words: filled.words })
}
