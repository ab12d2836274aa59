import type { Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'

/**
 * Finds users by any part of a name. The database keeps the index itself, so that a node of an earlier version
 * does not leave gaps in it.
 */
export const partsOfNames: Migration = {
  name: 'accounts-0013-parts-of-names',
  up: async (db, engine) => {
    if (engine === 'sqlite') await onSqlite(db)
  },
  // Every search reads through the list of pending entries, in kB; without one, each insert updates the index at once.
  indexes: (engine): Record<string, string> =>
    engine === 'sqlite'
      ? {}
      : {
          users_trigrams: `users using gin ((${trigramsOnPostgres()}))
            with (gin_pending_list_limit = 256)`,
        },
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
type Schema = Kysely<any>

/** With `secure-delete`, nothing of an erased name stays in the index. */
async function onSqlite(db: Schema): Promise<void> {
  await sql`create virtual table user_names using fts5(username, email, content = 'users',
    content_rowid = 'id', columnsize = 0, tokenize = 'trigram case_sensitive 1')`.execute(db)
  await sql`insert into user_names (user_names, rank) values ('secure-delete', 1)`.execute(db)
  await sql`insert into user_names (user_names) values ('rebuild')`.execute(db)
  const add = sql.raw(
    'insert into user_names (rowid, username, email) values (new.id, new.username, new.email);',
  )
  const remove = sql.raw(`insert into user_names (user_names, rowid, username, email)
    values ('delete', old.id, old.username, old.email);`)
  await sql`create trigger user_names_insert after insert on users begin ${add} end`.execute(db)
  await sql`create trigger user_names_delete after delete on users begin ${remove} end`.execute(db)
  await sql`create trigger user_names_update after update of id, username, email on users
    begin ${remove} ${add} end`.execute(db)
}

/**
 * Every three characters in a row, made with built-in functions only: from the first, the second and the third
 * character on, the text is cut after every third. Names contain no line breaks.
 */
function trigramsOnPostgres(): string {
  const cut = (text: string) => `regexp_replace(${text}, '(...)', E'\\\\1\\n', 'g')`
  const names = `(username || ' ' || email)`
  const parts = [names, `substr(${names}, 2)`, `substr(${names}, 3)`].map(cut)
  return `string_to_array(${parts.join(` || E'\\n' || `)}, E'\\n')`
}
