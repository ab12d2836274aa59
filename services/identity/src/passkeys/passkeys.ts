import {
  type Accounts,
  type By,
  lockCaller,
  type Origin,
  type PasskeyStore,
  recordRefusal,
  recordSecurityEvent,
  requireUser,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import type { Clock } from '@plinth/kit/runtime'
import { deletePasskeys, listPasskeys } from '../database/passkeys.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { passkeyNotYours, passkeyUnknown } from './problems.ts'
import type { RelyingParty, UserVerification } from './relying-party.ts'

/** What the passkey rules need; every rule takes it as its first argument. */
export type Passkeys = {
  accounts: Accounts
  db: Db<IdentityTables>
  clock: Clock
  relyingParty: RelyingParty
  userVerification: UserVerification
}

/** What is needed to list and remove passkeys, even where ceremonies are switched off. */
export type PasskeyRecords = Omit<Passkeys, 'relyingParty' | 'userVerification'>

/** What users and administrators may see of passkeys; never the key itself. */
export async function passkeysOf({ db }: Pick<Passkeys, 'db'>, userId: number) {
  const passkeys = await listPasskeys(db, userId)
  return passkeys.map(({ credentialId, label, createdAt, lastUsedAt }) => ({
    id: credentialId,
    label,
    createdAt,
    lastUsedAt,
  }))
}

/** Another user's passkey and one that does not exist get the same answer. */
export async function removeOwnPasskey(
  { accounts, db }: PasskeyRecords,
  caller: Caller,
  id: string,
  origin: Origin,
): Promise<void> {
  const who = { actor: caller.username, subject: caller.username, userId: Number(caller.userId) }
  const event = { event: 'PASSKEY_REMOVED', ...who } as const
  const removed = await inTransaction(db, async (transaction) => {
    await lockCaller(transaction, caller)
    const deleted = await deletePasskeys(transaction, Number(caller.userId), { id })
    if (deleted > 0) await recordSecurityEvent({ ...accounts, db: transaction }, event, origin)
    return deleted > 0
  })
  if (removed) return
  await recordRefusal(accounts, event, origin)
  throw passkeyNotYours()
}

/** Removes one passkey of a user, or all of them, for an administrator. */
export async function removePasskeys(
  { accounts, db }: PasskeyRecords,
  userId: number,
  choice: { id: string } | 'all',
  { actor, origin, reason }: By,
): Promise<void> {
  const user = await requireUser(accounts, userId)
  await inTransaction(db, async (transaction) => {
    const removed = await deletePasskeys(transaction, userId, choice)
    if (removed === 0 && choice !== 'all') throw passkeyUnknown()
    const event = {
      event: 'PASSKEY_REMOVED',
      actor,
      reason,
      subject: user.username,
      userId,
    } as const
    if (removed > 0) await recordSecurityEvent({ ...accounts, db: transaction }, event, origin)
  })
}

/** For the command line, which resets passwords and removes passkeys in one transaction. */
export const passkeyStore: PasskeyStore = {
  list: (db: Db<IdentityTables>, userId) => passkeysOf({ db }, userId),
  remove: (db: Db<IdentityTables>, userId, choice) => deletePasskeys(db, userId, choice),
}
