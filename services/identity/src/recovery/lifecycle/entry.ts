import {
  type Accounts,
  type By,
  expirePassword,
  lockUser,
  type Origin,
  recordEvent,
  recordRefusal,
  type TurnAway,
  type User,
  userUnknown,
} from '@plinth/accounts'
import { type Db, inTransaction, type Problem } from '@plinth/kit'
import type { IdentityTables } from '../../database/tables.ts'
import { isHeldForUndo } from '../by-mail/email-change.ts'
import { issueToken } from '../one-time-tokens.ts'
import type { Recovery } from '../recovery.ts'
import { accountLeaving, passwordChangeRequired } from './problems.ts'

/** The next login with the password must choose another. Sessions and passkeys go on. */
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
    await recordEvent({ ...accounts, db }, { event: 'PASSWORD_EXPIRED', ...who }, origin)
  })
}

/** After a right password: a token for what must happen first, and no session. */
const turnAway: TurnAway = {
  problems: [passwordChangeRequired, accountLeaving],
  run: askFirst,
}

/** What recovery asks of the accounts when somebody signs in or takes an address. */
export const entryHooks = { turnAway, isHeld: isHeldForUndo }

/**
 * The password was checked against `user` without a lock. Who has changed since gets no token: a reset that
 * was committed meanwhile has made every token void, and this one would outlive it.
 */
async function askFirst(
  accounts: Accounts,
  user: User,
  amr: string[],
  origin: Origin,
): Promise<void> {
  const leaves = user.deletion?.by === 'user'
  if (!leaves && !(user.enabled && user.passwordExpired)) return
  const refusal = await inTransaction(accounts.db, async (db) => {
    const now = await lockUser(db, user.id)
    if (!now || !isUnchanged(now, user)) return undefined
    return refuse({ ...accounts, db }, now, amr, origin)
  })
  // Thrown only now, so that what was written stays.
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
  accounts: Accounts,
  user: User,
  amr: string[],
  origin: Origin,
): Promise<Problem> {
  const { id: userId, email: address, username, deletion } = user
  const leaving = deletion?.by === 'user' ? deletion : undefined
  // As at every sign-in. A new password asks for it when it is chosen.
  const asked =
    leaving && user.secondFactor && (await accounts.gate?.ask(accounts.db, user, amr, origin))
  if (asked) return asked
  await recordRefusal(accounts, { event: 'LOGIN', subject: username }, origin)
  const kind = leaving ? 'deletion-cancel' : 'password-change'
  const db = accounts.db as unknown as Db<IdentityTables>
  const { token } = await issueToken({ accounts, db }, { userId, kind, address })
  return leaving
    ? accountLeaving({ extra: { token, deletesAt: leaving.at } })
    : passwordChangeRequired({ extra: { token } })
}
