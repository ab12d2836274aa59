import { type Accounts, type Origin, recordEvent, recordRefusal } from '@plinth/accounts'
import { type Caller, type Clock, type Db, inTransaction } from '@plinth/kit'
import { deletePasskey, listPasskeys } from '../database/passkeys.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { passkeyNotYours } from './problems.ts'
import type { RelyingParty } from './relying-party.ts'

/** What the passkey rules need; every rule takes it as its first argument. */
export type Passkeys = {
  accounts: Accounts
  db: Db<IdentityTables>
  clock: Clock
  relyingParty: RelyingParty
}

/** What users may see of their passkeys: never a key. */
export async function ownPasskeys({ db }: Pick<Passkeys, 'db'>, caller: Caller) {
  const passkeys = await listPasskeys(db, Number(caller.userId))
  return passkeys.map(({ credentialId, label, createdAt, lastUsedAt }) => ({
    id: credentialId,
    label,
    createdAt,
    lastUsedAt,
  }))
}

/** Another user's passkey and one that does not exist get the same answer. */
export async function removePasskey(
  { accounts, db, clock }: Passkeys,
  caller: Caller,
  credentialId: string,
  origin: Origin,
): Promise<void> {
  const event = { event: 'PASSKEY_REMOVED', actor: caller.username, subject: caller.username }
  // PostgreSQL refuses a NUL in a parameter, and no credential id contains one.
  const id = credentialId.replaceAll('\0', '')
  const removed = await inTransaction(db, async (transaction) => {
    const deleted = await deletePasskey(transaction, Number(caller.userId), id)
    if (deleted) await recordEvent({ db: transaction, clock }, event, origin)
    return deleted
  })
  if (removed) return
  await recordRefusal(accounts, event, origin)
  throw passkeyNotYours()
}
