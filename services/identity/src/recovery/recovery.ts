import {
  deletionPending,
  findUserByEmail,
  lockUser,
  type PasskeyStore,
  type User,
} from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import type { IdentityTables } from '../database/tables.ts'
import type { Factors } from '../factors/second-factor.ts'
import type { Outbox } from '../mail/outbox.ts'
import { recipientFor } from '../mail/recipient.ts'
import type { UserMails } from '../mail/user-mails.ts'
import { accountDisabled, addressNotMailable } from './problems.ts'

/** What the recovery rules need; every rule takes it as its first argument. */
export type Recovery = UserMails & { passkeys: PasskeyStore; factors: Factors }

/**
 * Finds and locks the owner of an address. Whatever invalidates tokens locks the user too: so it either runs before
 * a token is issued under this lock, or sees that token.
 */
export async function lockOwner(
  db: Db<IdentityTables>,
  address: string,
): Promise<User | undefined> {
  const found = await findUserByEmail(db, address)
  const user = found && (await lockUser(db, found.id))
  return user?.email === address ? user : undefined
}

/** Tells an administrator why no mail could be sent. */
export function requireReachable({ settings }: Outbox, { deletion, enabled, email }: User): void {
  if (deletion) throw deletionPending()
  if (!enabled) throw accountDisabled()
  if (!recipientFor(settings, email)) throw addressNotMailable()
}
