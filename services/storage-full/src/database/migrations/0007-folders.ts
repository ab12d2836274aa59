import { idColumn, type Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'

/**
 * Nodes still running the previous version insert files without these columns: such a file is in the folder `/`, and a
 * job adds its words. They delete files without their words, which is harmless: an id is never used twice.
 */
export const folders: Migration = {
  name: 'storage-0007-folders',
  async up(db, engine) {
    // Compared byte by byte on both engines, so that a range of this text is a prefix.
    const bytewise = engine === 'postgres' ? sql`text collate "C"` : sql`text`
    await db.schema
      .createTable('folders')
      .addColumn('id', ...idColumn(engine))
      .addColumn('owner_id', 'text', (column) => column.notNull())
      // No reference: a restored parent may come after its child.
      .addColumn('parent_id', 'bigint')
      .addColumn('path', bytewise, (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addUniqueConstraint('folders_path', ['owner_id', 'path'])
      .execute()
    await sql`create index folders_parent on folders (owner_id, parent_id, path)`.execute(db)
    await sql`alter table files add column folder_id bigint references folders (id)`.execute(db)
    await sql`alter table files add column former_folder text`.execute(db)
    await sql`alter table files add column folded_name ${bytewise} not null default ''`.execute(db)
    for (const column of ['words', 'tags', 'metadata', 'updated_at'])
      await sql`alter table files add column ${sql.ref(column)} text`.execute(db)
    await sql`alter table uploads add column folder text not null default '/'`.execute(db)
    await createWords(db, { bytewise, isSqlite: engine === 'sqlite' })
  },
  /** One for each order in which files are read, of an owner or of one folder. */
  indexes: () => ({
    files_in_folder_by_time: 'files (folder_id, owner_id, state, created_at, id)',
    files_in_folder_by_name: 'files (folder_id, owner_id, state, folded_name, id)',
    files_by_time: 'files (owner_id, state, created_at, id)',
    files_by_name: 'files (owner_id, state, folded_name, id)',
    files_by_size: 'files (owner_id, state, size_bytes, id)',
    files_by_change: 'files (owner_id, state, coalesce(updated_at, created_at), id)',
    files_without_words: 'files (id) where words is null',
  }),
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
type Schema = Kysely<any>

async function createWords(
  db: Schema,
  { bytewise, isSqlite }: { bytewise: ReturnType<typeof sql>; isSqlite: boolean },
): Promise<void> {
  await sql`create table file_words (
    owner_id text not null, word ${bytewise} not null, file_id bigint not null,
    primary key (owner_id, word, file_id)) ${sql.raw(isSqlite ? 'without rowid' : '')}`.execute(db)
}
