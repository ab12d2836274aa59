import { type Db, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import type { Selectable } from 'kysely'
import type { IdentityTables } from './tables.ts'

type PasskeyRow = Selectable<IdentityTables['passkeys']>

type NewRow = Omit<PasskeyRow, 'id'>

export type Passkey = Omit<FromRow<NewRow>, 'publicKey' | 'backupEligible' | 'transports'> & {
  publicKey: Buffer
  backupEligible: boolean
  transports: string[]
}

/** The user's handle: set to `fresh` if there is none yet, and never changed afterwards. */
export async function claimUserHandle(
  db: Db<IdentityTables>,
  userId: number,
  fresh: string,
): Promise<string> {
  await db
    .insertInto('passkey_users')
    .values({ user_id: userId, handle: fresh })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .execute()
  const row = await db
    .selectFrom('passkey_users')
    .select('handle')
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return row.handle
}

export async function insertPasskey(db: Db<IdentityTables>, passkey: Passkey): Promise<void> {
  const row = toRow<NewRow>({
    ...passkey,
    publicKey: passkey.publicKey.toString('base64url'),
    backupEligible: passkey.backupEligible ? 1 : 0,
    transports: JSON.stringify(passkey.transports),
  })
  await db.insertInto('passkeys').values(row).execute()
}

export async function findPasskey(
  db: Db<IdentityTables>,
  credentialId: string,
): Promise<(Passkey & { userHandle: string }) | undefined> {
  const row = await db
    .selectFrom('passkeys')
    .innerJoin('passkey_users', 'passkey_users.user_id', 'passkeys.user_id')
    .selectAll('passkeys')
    .select('passkey_users.handle')
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
  return row && { ...passkeyOf(row), userHandle: row.handle }
}

export async function listPasskeys(db: Db<IdentityTables>, userId: number): Promise<Passkey[]> {
  const rows = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows.map(passkeyOf)
}

/**
 * Advances the signature counter in one conditional update: only one of two logins with the same counter,
 * as a cloned key would send, succeeds. An authenticator without a counter always sends 0.
 */
export async function advanceCounter(
  db: Db<IdentityTables>,
  credentialId: string,
  counter: number,
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('passkeys')
    .set({ counter, last_used_at: now.toISOString() })
    .where('credential_id', '=', credentialId)
    .where((where) => (counter === 0 ? where('counter', '=', 0) : where('counter', '<', counter)))
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Deletes one passkey of a user, or all of them, and returns how many. */
export async function deletePasskeys(
  db: Db<IdentityTables>,
  userId: number,
  choice: { id: string } | 'all',
): Promise<number> {
  const all = db.deleteFrom('passkeys').where('user_id', '=', userId)
  const chosen =
    choice === 'all'
      ? all
      : // PostgreSQL refuses NUL in a parameter, and no credential id contains it.
        all.where('credential_id', '=', choice.id.replaceAll('\0', ''))
  const { numDeletedRows } = await chosen.executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

function passkeyOf({ id, ...row }: PasskeyRow): Passkey {
  const { publicKey, backupEligible, transports, ...rest } = fromRow(row)
  return {
    ...rest,
    publicKey: Buffer.from(publicKey, 'base64url'),
    backupEligible: backupEligible === 1,
    transports: JSON.parse(transports) as string[],
  }
}
