import { engineOf, prepared } from '@plinth/kit/database'
import { type RawBuilder, sql } from 'kysely'
import type { StorageDb } from '../database/tables.ts'

/** The end of a `with` statement of PostgreSQL: `rows` has just inserted files, with their words. */
export function wordsOfInserted(rows: string): string {
  return `insert into file_words (owner_id, word, file_id)
    select owner_id, word, id from ${rows}, unnest(string_to_array(btrim(words), ' ')) as word
    where word <> ''`
}

type Words = { id: number; ownerId: string; words: string | null }

type WordList = { id: number; ownerId: string; list: string }

const insert = prepared((db: StorageDb, { id, ownerId, list }: WordList) => ({
  compile: () =>
    sql`insert into file_words (owner_id, word, file_id)
      select ${ownerId}, value, cast(${id} as bigint) from ${elements(db, list)}`.compile(db),
}))

/** In the transaction that writes the same words to the row of the file. */
export async function insertWords(db: StorageDb, { id, ownerId, words }: Words): Promise<void> {
  const list = listed(words)
  if (list.length > 0) await insert(db, { id, ownerId, list: JSON.stringify(list) })
}

const remove = prepared((db: StorageDb, { id, ownerId, list }: WordList) => ({
  compile: () =>
    sql`delete from file_words where owner_id = ${ownerId} and file_id = ${id}
      and word in (select value from ${elements(db, list)})`.compile(db),
}))

/** In the transaction that takes the same words from the row of the file, or deletes it. */
export async function deleteWords(db: StorageDb, { id, ownerId, words }: Words): Promise<void> {
  const list = listed(words)
  if (list.length > 0) await remove(db, { id, ownerId, list: JSON.stringify(list) })
}

function listed(words: string | null): string[] {
  return words?.split(' ').filter((word) => word !== '') ?? []
}

/** The rows of a JSON list of texts. */
function elements(db: StorageDb, list: string): RawBuilder<unknown> {
  return engineOf(db) === 'postgres'
    ? sql`json_array_elements_text(cast(${list} as json)) as value`
    : sql`json_each(${list})`
}
