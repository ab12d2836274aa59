import {
  type Accounts,
  type By,
  expirePassword,
  lockUser,
  type Origin,
  recordRefusal,
  recordSecurityEvent,
  type TurnAway,
  type User,
  userUnknown,
} from '@plinth/accounts'
import { inTransaction } from '@plinth/kit/database'
import type { Problem } from '@plinth/kit/problems'
import type { IdentityTables } from '../database/tables.ts'
import { issueToken } from '../tokens/one-time-tokens.ts'
import { isHeldForUndo } from './email-change.ts'
import { loginPendingDeletion, passwordChangeRequired } from './problems.ts'
import type { Recovery } from './recovery.ts'

/** The next password login must choose a new password. Sessions and passkeys keep working. */
export async function requireNewPassword(
  { accounts }: Recovery,
  userId: number,
  { actor, origin, reason }: By,
): Promise<void> {
  await inTransaction(accounts.db, async (db) => {
    const user = await lockUser(db, userId)
    if (!user) throw userUnknown()
    await expirePassword(db, userId)
    const who = { actor, reason, subject: user.username, userId }
    await recordSecurityEvent({ ...accounts, db }, { event: 'PASSWORD_EXPIRED', ...who }, origin)
  })
}

/** After a right password: refuses the session, and issues a token for what must happen first. */
const turnAway: TurnAway = {
  problems: [passwordChangeRequired, loginPendingDeletion],
  run: refuseLogin,
}

/** The hooks of recovery into the accounts, for sign-ins and for changes of address. */
export const entryHooks = { turnAway, isHeld: isHeldForUndo }

/**
 * The password was checked against `user` without a lock. A user that has changed since gets no token: a reset
 * that committed meanwhile has invalidated every token, and this one would survive it.
 */
async function refuseLogin(
  accounts: Accounts<IdentityTables>,
  user: User,
  amr: string[],
  origin: Origin,
): Promise<void> {
  const isDeleting = user.deletion?.by === 'user'
  if (!isDeleting && !(user.enabled && user.passwordExpired)) return
  const refusal = await inTransaction(accounts.db, async (db) => {
    const now = await lockUser(db, user.id)
    if (!now || !isUnchanged(now, user)) return undefined
    return refuse({ ...accounts, db }, now, amr, origin)
  })
  // Thrown only after the commit, so that the token and the audit event are kept.
  if (refusal) throw refusal
}

function isUnchanged(now: User, { passwordHash, passwordExpired, enabled, deletion }: User) {
  return (
    now.passwordHash === passwordHash &&
    now.passwordExpired === passwordExpired &&
    now.enabled === enabled &&
    now.deletion?.at === deletion?.at &&
    now.deletion?.by === deletion?.by
  )
}

async function refuse(
  accounts: Accounts<IdentityTables>,
  user: User,
  amr: string[],
  origin: Origin,
): Promise<Problem> {
  const { id: userId, email: address, username, deletion } = user
  const pending = deletion?.by === 'user' ? deletion : undefined
  // As at every sign-in. An expired password needs the second factor only when the new one is set.
  const asked =
    pending && user.secondFactor && (await accounts.gate?.ask(accounts.db, user, amr, origin))
  if (asked) return asked
  await recordRefusal(accounts, { event: 'LOGIN', subject: username }, origin)
  const kind = pending ? 'deletion-cancel' : 'password-change'
  const { token } = await issueToken({ accounts, db: accounts.db }, { userId, kind, address })
  return pending
    ? loginPendingDeletion({ extra: { token, deletesAt: pending.at } })
    : passwordChangeRequired({ extra: { token } })
}
