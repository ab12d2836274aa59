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
import { type Db, inTransaction } from '@plinth/kit'
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

async function askFirst(
  accounts: Accounts,
  user: User,
  amr: string[],
  origin: Origin,
): Promise<void> {
  const db = accounts.db as unknown as Db<IdentityTables>
  const { id: userId, email: address, username, deletion } = user
  const leaves = deletion?.by === 'user'
  if (!leaves && !(user.enabled && user.passwordExpired)) return
  if (leaves && user.secondFactor) await askFactor(accounts, user, amr, origin)
  await recordRefusal(accounts, { event: 'LOGIN', subject: username }, origin)
  const kind = leaves ? 'deletion-cancel' : 'password-change'
  const { token } = await issueToken({ accounts, db }, { userId, kind, address })
  throw leaves
    ? accountLeaving({ extra: { token, deletesAt: deletion.at } })
    : passwordChangeRequired({ extra: { token } })
}

/** As at every sign-in. A new password asks for it when it is chosen. */
async function askFactor(
  { db, gate }: Accounts,
  user: User,
  amr: string[],
  origin: Origin,
): Promise<void> {
  const refusal = await inTransaction(db, async (inside) => gate?.ask(inside, user, amr, origin))
  if (refusal) throw refusal
}
