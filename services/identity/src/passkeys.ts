import { type Origin, recordEvent, recordRefusal } from '@plinth/accounts'
import { type Caller, inTransaction } from '@plinth/kit'
import { type Identity, passkeyTables } from './identity.ts'
import { deletePasskey, listPasskeys } from './passkeys.repository.ts'
import { passkeyNotYours } from './problems.ts'

/** What a user may see of his passkeys: never a key. */
export async function ownPasskeys({ db }: Identity, caller: Caller) {
  const passkeys = await listPasskeys(passkeyTables(db), Number(caller.userId))
  return passkeys.map(({ credentialId, label, createdAt, lastUsedAt }) => ({
    id: credentialId,
    label,
    createdAt,
    lastUsedAt,
  }))
}

/** Another user's passkey and one that does not exist get the same answer. */
export async function removePasskey(
  identity: Identity,
  caller: Caller,
  credentialId: string,
  origin: Origin,
): Promise<void> {
  const event = { event: 'PASSKEY_REMOVED', actor: caller.username, subject: caller.username }
  const removed = await inTransaction(identity.db, async (db) => {
    const id = credentialId.replaceAll('\0', '')
    const deleted = await deletePasskey(passkeyTables(db), Number(caller.userId), id)
    if (deleted) await recordEvent({ ...identity, db }, event, origin)
    return deleted
  })
  if (removed) return
  await recordRefusal(identity.accounts, event, origin)
  throw passkeyNotYours()
}
