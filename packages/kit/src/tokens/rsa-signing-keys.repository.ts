import type { Migration } from '../database/migrate.ts'
import type { Db } from '../database/open.ts'
import { fromRow, toRow } from '../database/rows.ts'
import type { Sealed, SealedColumns } from './sealed-text.ts'
import type { StoredSigningKey } from './signing-keys.repository.ts'

/** A table of its own, because earlier versions take every row of `signing_keys` for a P-256 key. */
type RsaKeyRow = {
  generation: number
  kid: string
  sealed_private_key: Sealed
  signs_from: string
}

export type RsaSigningKeyTables = { rsa_signing_keys: RsaKeyRow }

export const SEALED_RSA_SIGNING_KEYS: SealedColumns<RsaSigningKeyTables> = {
  rsa_signing_keys: { sealed_private_key: true },
}

/** Oldest first. */
export async function listRsaSigningKeys(db: Db<RsaSigningKeyTables>): Promise<StoredSigningKey[]> {
  const rows = await db.selectFrom('rsa_signing_keys').selectAll().orderBy('generation').execute()
  return rows.map((row) => ({ ...fromRow(row), signsFrom: new Date(row.signs_from) }))
}

/** When several nodes add the same generation at once, one wins and the others change nothing. */
export async function insertRsaSigningKey(
  db: Db<RsaSigningKeyTables>,
  key: StoredSigningKey,
): Promise<void> {
  await db
    .insertInto('rsa_signing_keys')
    .values(toRow<RsaKeyRow>({ ...key, signsFrom: key.signsFrom.toISOString() }))
    .onConflict((conflict) => conflict.column('generation').doNothing())
    .execute()
}

export async function deleteRsaSigningKeys(
  db: Db<RsaSigningKeyTables>,
  kids: string[],
): Promise<void> {
  if (kids.length > 0) await db.deleteFrom('rsa_signing_keys').where('kid', 'in', kids).execute()
}

export const rsaSigningKeyMigrations: Migration[] = [
  {
    name: 'signing-keys-0002-rsa',
    async up(db) {
      await db.schema
        .createTable('rsa_signing_keys')
        .addColumn('generation', 'integer', (column) => column.primaryKey())
        .addColumn('kid', 'text', (column) => column.notNull().unique())
        .addColumn('sealed_private_key', 'text', (column) => column.notNull())
        .addColumn('signs_from', 'text', (column) => column.notNull())
        .execute()
    },
  },
]
