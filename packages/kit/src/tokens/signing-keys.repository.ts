import type { Migration } from '../database/migrate.ts'
import type { Db } from '../database/open.ts'
import { type FromRow, fromRow, toRow } from '../database/rows.ts'
import type { Sealed, SealedColumns } from './sealed-text.ts'

type SigningKeyRow = {
  generation: number
  kid: string
  sealed_private_key: Sealed
  signs_from: string
}

export type SigningKeyTables = { signing_keys: SigningKeyRow }

export const SEALED_SIGNING_KEYS: SealedColumns<SigningKeyTables> = {
  signing_keys: { sealed_private_key: true },
}

export type StoredSigningKey = Omit<FromRow<SigningKeyRow>, 'signsFrom'> & { signsFrom: Date }

/** Oldest first. */
export async function listSigningKeys(db: Db<SigningKeyTables>): Promise<StoredSigningKey[]> {
  const rows = await db.selectFrom('signing_keys').selectAll().orderBy('generation').execute()
  return rows.map((row) => ({ ...fromRow(row), signsFrom: new Date(row.signs_from) }))
}

/** When several nodes add the same generation at once, one wins and the others change nothing. */
export async function insertSigningKey(
  db: Db<SigningKeyTables>,
  key: StoredSigningKey,
): Promise<void> {
  await db
    .insertInto('signing_keys')
    .values(toRow<SigningKeyRow>({ ...key, signsFrom: key.signsFrom.toISOString() }))
    .onConflict((conflict) => conflict.column('generation').doNothing())
    .execute()
}

export async function deleteSigningKeys(db: Db<SigningKeyTables>, kids: string[]): Promise<void> {
  if (kids.length > 0) await db.deleteFrom('signing_keys').where('kid', 'in', kids).execute()
}

export const signingKeyMigrations: Migration[] = [
  {
    name: 'signing-keys-0001-keys',
    async up(db) {
      await db.schema
        .createTable('signing_keys')
        .addColumn('generation', 'integer', (column) => column.primaryKey())
        .addColumn('kid', 'text', (column) => column.notNull().unique())
        .addColumn('sealed_private_key', 'text', (column) => column.notNull())
        .addColumn('signs_from', 'text', (column) => column.notNull())
        .execute()
    },
  },
]
