import { FIRST_EVENT_COLUMNS, firstEventsOf } from '@plinth/events'
import type { Selectable } from 'kysely'
import type { StorageTables } from '../../database/tables.ts'
import { wordsOfInserted } from '../words.repository.ts'

/** The columns of a file that was never changed. */
export type NewRow = Omit<
  Selectable<StorageTables['files']>,
  ('id' | 'former_folder' | 'tags' | 'metadata' | 'updated_at') | ('version' | 'replaced_at')
>

/** The type of each column on PostgreSQL. */
export const TYPES: {
  [C in keyof NewRow]: NonNullable<NewRow[C]> extends number ? 'bigint' : 'text'
} = {
  owner_id: 'text',
  owner_name: 'text',
  original_filename: 'text',
  stored_filename: 'text',
  extension: 'text',
  content_type: 'text',
  size_bytes: 'bigint',
  checksum_sha256: 'text',
  crc32: 'bigint',
  location_id: 'bigint',
  object_name: 'text',
  state: 'text',
  thumbnail: 'text',
  created_at: 'text',
  folder_id: 'bigint',
  folded_name: 'text',
  words: 'text',
}

const COLUMNS = Object.keys(TYPES).join(', ')

const TYPED = Object.entries(TYPES)
  .map(([column, type]) => `${column} ${type}`)
  .join(', ')

/**
 * Inserts several uploads without a quota in one PostgreSQL statement; `$1` is a JSON list of their rows and
 * events. Uploads of one owner all count in the part of the first, and those of the next group in another.
 */
export const FILES_TOGETHER = {
  sql: `with member as (
      select * from json_to_recordset($1) as member (${TYPED}, part integer, ${FIRST_EVENT_COLUMNS})),
    counted as (
      insert into file_total_parts as own (owner_id, part, total, bytes)
      select owner_id, (array_agg(part))[1], count(*), sum(size_bytes) from member
      group by owner_id order by owner_id
      on conflict (owner_id, part) do update
      set total = own.total + excluded.total, bytes = own.bytes + excluded.bytes),
    stored as (
      insert into files (${COLUMNS}) select ${COLUMNS} from member
      returning id, stored_filename, owner_id, words),
    found as (${wordsOfInserted('stored')}),
    published as (${firstEventsOf('stored', 'member', 'stored_filename')})
    select id, stored_filename from stored`,
  keys: ['stored_filename'],
}
