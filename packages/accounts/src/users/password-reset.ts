import { type Db, inTransaction } from '@plinth/kit/database'
import type { Accounts, Admission } from '../accounts.ts'
import { type By, recordSecurityEvent } from '../audit/audit.ts'
import { revokeSessions } from '../database/ended-sessions.repository.ts'
import type { AccountTables } from '../database/tables.ts'
import {
  lockUser,
  NO_PASSWORD,
  type User,
  updatePasswordHash,
} from '../database/users.repository.ts'

/** The passkeys that a host keeps for its users. */
export type PasskeyStore = {
  list(db: Db<AccountTables>, userId: number): Promise<PasskeySummary[]>
  /** Returns the number removed. */
  remove(db: Db<AccountTables>, userId: number, choice: { id: string } | 'all'): Promise<number>
  /** Removes the user's accounts at providers too, on hosts where users sign in with them. */
  removeIdentities?(accounts: Accounts, user: User, by: By): Promise<void>
}

type PasskeySummary = { id: string; label: string; createdAt: string; lastUsedAt: string }

/**
 * For an operator, or a user who has proved that the address is theirs. Needs no current password, ends
 * every session and, given a store, removes every passkey and identity, because one of them may be a thief's.
 * Without a new password the account has none. Returns what `admit` decided, or undefined if the user no longer
 * exists.
 */
export async function resetPassword<A extends Admission>(
  accounts: Accounts,
  user: User,
  newPassword: string | undefined,
  by: By,
  { passkeys, admit }: Reset<A>,
): Promise<(A & { passkeysRemoved: number }) | undefined> {
  const newHash =
    newPassword === undefined
      ? NO_PASSWORD
      : await accounts.passwords.hash(newPassword, by.origin.address)
  return inTransaction(accounts.db, async (db) => {
    const now = await lockUser(db, user.id)
    if (!now) return undefined
    const admission = await admit(db, now)
    if (!admission.isAdmitted) return { ...admission, passkeysRemoved: 0 }
    await updatePasswordHash(db, user.id, newHash)
    await revokeSessions(db, user.id)
    const { actor, reason } = by
    const who = { actor, reason, subject: user.username, userId: user.id }
    await recordSecurityEvent({ ...accounts, db }, { event: 'PASSWORD_RESET', ...who }, by.origin)
    const passkeysRemoved = (await passkeys?.remove(db, user.id, 'all')) ?? 0
    if (passkeysRemoved > 0)
      await recordSecurityEvent(
        { ...accounts, db },
        { event: 'PASSKEY_REMOVED', ...who },
        by.origin,
      )
    await passkeys?.removeIdentities?.({ ...accounts, db }, now, by)
    return { ...admission, passkeysRemoved }
  })
}

type Reset<A> = {
  passkeys?: PasskeyStore
  /** Decides in the transaction, with the user's row locked, whether the password may still be reset. */
  admit(db: Db<AccountTables>, user: User): Promise<A>
}
