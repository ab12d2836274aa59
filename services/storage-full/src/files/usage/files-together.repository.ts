import { FIRST_EVENT_COLUMNS, firstEventsOf } from '@plinth/events'

const FILE_COLUMNS = `owner_id, owner_name, original_filename, stored_filename, extension, content_type,
  size_bytes, checksum_sha256, location_id, object_name, state, thumbnail, created_at`

/**
 * What several uploads without a quota insert on PostgreSQL, as one statement: their rows and events as a
 * list in JSON. It counts in one part of each owner.
 */
export const FILES_TOGETHER = {
  sql: `with member as (
      select * from json_to_recordset($1) as member (owner_id text, owner_name text,
        original_filename text, stored_filename text, extension text, content_type text,
        size_bytes bigint, checksum_sha256 text, location_id bigint, object_name text, state text,
        thumbnail text, created_at text, part integer, ${FIRST_EVENT_COLUMNS})),
    counted as (
      insert into file_total_parts as own (owner_id, part, total, bytes)
      select owner_id, min(part), count(*), sum(size_bytes) from member
      group by owner_id order by owner_id
      on conflict (owner_id, part) do update
      set total = own.total + excluded.total, bytes = own.bytes + excluded.bytes),
    stored as (
      insert into files (${FILE_COLUMNS}) select ${FILE_COLUMNS} from member
      returning id, stored_filename),
    told as (${firstEventsOf('stored', 'member', 'stored_filename')})
    select id, stored_filename from stored`,
  keys: ['stored_filename'],
}
