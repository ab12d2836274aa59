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

/** One thing that a file is found by: the beginning of a word of its name, or a whole tag. */
export type Term = { word: string; isWhole: boolean }

/** Whether the row of a file has this among its words; `words` is its column. */
export function hasTerm(
  db: StorageDb,
  words: RawBuilder<unknown>,
  { word, isWhole }: Term,
): RawBuilder<boolean> {
  const sought = isWhole ? ` ${word} ` : ` ${word}`
  return engineOf(db) === 'postgres'
    ? sql<boolean>`strpos(${words}, ${sought}) > 0`
    : sql<boolean>`instr(${words}, ${sought}) > 0`
}

/** After every text that begins with another, in the order of bytes. */
const LAST_CHARACTER = '\u{10ffff}'

/** Files with this term, of an owner or of everyone, deleted ones too. With fewer than `limit` these are all. */
export async function listFound(
  db: StorageDb,
  ownerId: string | undefined,
  { word, isWhole }: Term,
  limit: number,
): Promise<number[]> {
  const last = isWhole ? word : `${word}${LAST_CHARACTER}`
  const { rows } = await (ownerId === undefined
    ? foundOfAll(db, [word, last], limit)
    : sql<Found>`select file_id from file_words
        where owner_id = ${ownerId} and word >= ${word} and word <= ${last} limit ${limit}`
  ).execute(db)
  return rows.map(({ file_id }) => file_id)
}

type Found = { file_id: number }

/** The index begins with the owner, so this looks into it once for each; left to plan it, PostgreSQL may read all words. */
function foundOfAll(db: StorageDb, [first, last]: [string, string], limit: number) {
  return engineOf(db) === 'postgres'
    ? sql<Found>`select file_id
        from (select owner_id from file_totals union select owner_id from file_total_parts) as owners
        cross join lateral (select file_id from file_words
          where file_words.owner_id = owners.owner_id and word >= ${first} and word <= ${last}
          limit ${limit}) as found
        limit ${limit}`
    : sql<Found>`select file_id from file_totals
        cross join file_words on file_words.owner_id = file_totals.owner_id
          and word >= ${first} and word <= ${last}
        limit ${limit}`
}
