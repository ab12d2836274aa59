import {
  cancelDeletion,
  changeEmail,
  findUserByEmail,
  findUserById,
  lockCaller,
  lockUser,
  normalName,
  type Origin,
  requireEmailLength,
  requireUser,
  resetPassword,
  type User,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { secondsAfter } from '@plinth/kit/runtime'
import { newOpaqueToken } from '@plinth/kit/tokens'
import { findFactor } from '../database/factors.repository.ts'
import { isInOutbox } from '../database/mail.repository.ts'
import {
  changeKind,
  findUnusedToken,
  listTokensOfOthers,
  type OneTimeToken,
  spendToken,
} from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { dropSecondFactor } from '../factors/second-factor.ts'
import { LIFETIME_SECONDS } from '../limits.ts'
import type { Prepare } from '../mail/delivery.ts'
import { queueMail } from '../mail/outbox.ts'
import { accountLink, askForMail, mayMail } from '../mail/user-mails.ts'
import { withoutNotices } from '../notices/consequences.ts'
import { findProved, findToken, issueToken, type Proof } from '../tokens/one-time-tokens.ts'
import { tokenRejected } from '../tokens/problems.ts'
import type { Recovery } from './recovery.ts'

const KIND = 'email-change'

/** Gives the same reply when the address belongs to another account; its owner gets a mail instead. */
export async function requestEmailChange(
  recovery: Recovery,
  caller: Caller,
  newEmail: string,
  origin: Origin,
): Promise<void> {
  const userId = Number(caller.userId)
  const address = normalName(newEmail)
  requireEmailLength(address, 'newEmail')
  await inTransaction(recovery.db, async (db) => {
    await lockCaller(db, caller)
    const accounts = { ...recovery.accounts, db }
    const { email } = await requireUser(accounts, userId)
    if (email === address) throw validationFailed(['newEmail: is your address already'])
    await askForMail({ ...recovery, accounts, db }, KIND, { to: newEmail, userId }, origin)
  })
}

export function prepareEmailChange(recovery: Recovery): Prepare {
  const { accounts, publicUrl } = recovery
  return async (db, { id, address, userId, createdAt, originAddress, userAgent }) => {
    const inside = { ...accounts, db }
    // Whatever invalidates tokens locks the user and deletes this mail.
    const user = await lockUser(inside.db, userId ?? 0)
    if (!(await isInOutbox(db, id))) return
    const origin = { address: originAddress, userAgent, requestId: null }
    if (!user?.enabled) return
    const mail = { kind: KIND, user, isDue: true, to: address, origin } as const
    if (!(await mayMail(recovery, db, mail))) return
    const owner = await findUserByEmail(inside.db, address)
    if (owner) {
      const details = { link: `${publicUrl}/account/#forgot` }
      return { kind: 'email-taken', userId: owner.id, details, reader: owner }
    }
    const old = { details: { from: user.email } }
    const token = await issueToken(
      { accounts, db },
      { userId: user.id, kind: KIND, address, ...old },
    )
    const details = {
      date: createdAt,
      code: token.code,
      link: accountLink(recovery, 'email', token.token),
    }
    return { kind: KIND, userId: user.id, details }
  }
}

/** What the page shows before its button is pressed: a mistyped address may be a stranger's. */
export async function pendingEmailChange({ accounts, db }: Recovery, token: string) {
  const found = await findToken({ accounts, db }, KIND, { token })
  const user = found && (await findUserById(accounts.db, found.userId))
  if (!user || found.usedAt !== null) throw tokenRejected()
  return { username: user.username, email: found.address, createdAt: found.createdAt }
}

/** The old address gets a mail that can undo the change. */
export async function confirmEmailChange(
  recovery: Recovery,
  proof: Proof,
  origin: Origin,
): Promise<void> {
  const { accounts, db } = recovery
  const guess = { event: 'EMAIL_CHANGED', origin } as const
  const token = await findProved({ accounts, db }, KIND, proof, guess)
  if (!token) throw tokenRejected()
  const { from = '' } = JSON.parse(token.details) as { from?: string }
  const changed = await changeEmail(
    accounts,
    token.userId,
    {
      email: token.address,
      async admit(inside: Db<IdentityTables>, user) {
        const now = accounts.clock()
        // An upgrade may have rewritten the domain meanwhile.
        if (!user.enabled || normalName(user.email) !== normalName(from)) return false
        if (!(await spendToken(inside, token.id, now))) return false
        await offerUndo(recovery, inside, { token, user }, origin)
        return true
      },
    },
    origin,
  )
  if (!changed) throw tokenRejected()
}

const UNDO = 'email-undo'
const UNDO_SECONDS = LIFETIME_SECONDS[UNDO]

/**
 * After several changes in a row, only the first can be undone, for as long as its mail says: a thief must not
 * replace the owner's undo with a second change.
 */
async function offerUndo(
  recovery: Recovery,
  db: Db<IdentityTables>,
  { token, user }: { token: OneTimeToken; user: User },
  origin: Origin,
): Promise<void> {
  const { accounts, outbox } = recovery
  const { userId, address: newEmail } = token
  const { email: from } = user
  const now = accounts.clock()
  const to = { to: from, userId, reader: user, lifetimeSeconds: UNDO_SECONDS }
  const earlier = await findUnusedToken(db, { userId, kind: UNDO }, now)
  if (earlier) {
    const details = { newEmail, date: earlier.expiresAt }
    await queueMail(outbox, db, { kind: 'email-changed-again', ...to, details }, origin)
    return
  }
  const known = { proved: String(user.verified) }
  const undo = await issueToken(
    { accounts, db },
    { userId, kind: UNDO, address: from, details: known },
  )
  const expiresAt = secondsAfter(now, UNDO_SECONDS)
  await changeKind(db, userId, { from: 'not-me', to: 'not-me-before', now, expiresAt })
  const details = { newEmail, link: accountLink(recovery, 'undo', undo.token) }
  await queueMail(outbox, db, { kind: 'email-changed', ...to, details }, origin)
}

/** Whether the address was verified before the change. If not, a stranger may have created the account with it. */
function wasVerified({ details }: OneTimeToken): boolean {
  return (JSON.parse(details) as { proved?: string }).proved !== 'false'
}

/** Whether an undo reserves the address. Only if it was verified: anyone can register a stranger's address. */
export async function isHeldForUndo(
  db: Db<IdentityTables>,
  { id: userId, email: address }: { id: number; email: string },
  now: Date,
): Promise<boolean> {
  return (await listTokensOfOthers(db, { userId, kind: UNDO, address }, now)).some(wasVerified)
}

/** Accepts the token of the undo, or that of an earlier notice to the same address. */
export async function undoEmailChange(
  recovery: Recovery,
  proof: { token: string },
  origin: Origin,
): Promise<void> {
  const { accounts, db } = recovery
  const notMe = await findToken({ accounts, db }, 'not-me-before', proof)
  const token = notMe
    ? await findUnusedToken(db, { userId: notMe.userId, kind: UNDO }, accounts.clock())
    : await findToken({ accounts, db }, UNDO, proof)
  await restoreAddress(recovery, token, origin)
}

/**
 * Locks out whoever changed the address: ends the sessions, the password, the passkeys and a second factor that
 * was added since (any second factor, if the old address was never verified). The restored address gets a mail to
 * choose a new password. Also cancels a deletion by the user: it must have been requested after the change,
 * because a pending deletion disables the account.
 */
async function restoreAddress(
  recovery: Recovery,
  token: OneTimeToken | undefined,
  origin: Origin,
): Promise<void> {
  const { accounts, outbox, passkeys } = recovery
  const user = token && (await findUserById(accounts.db, token.userId))
  if (!token || !user) throw tokenRejected()
  const by = { actor: user.username, origin }
  const silent = withoutNotices(recovery)
  const done = await resetPassword(silent, user, newOpaqueToken(), by, {
    passkeys,
    async admit(inside: Db<IdentityTables>, now) {
      const at = accounts.clock()
      if (!(await spendToken(inside, token.id, at))) return { isAdmitted: false }
      const admit = async () => true
      const email = token.address
      // First, so that the notices of the following steps go to the owner.
      await changeEmail({ ...silent, db: inside }, user.id, { email, admit }, origin)
      const factor = await findFactor(inside, user.id)
      if (!wasVerified(token) || (factor?.confirmedAt ?? '') > token.createdAt)
        await dropSecondFactor(accounts, inside, now, by)
      const byUser = {
        admit: async (_: unknown, deletion: { by: string }) => deletion.by === 'user',
      }
      await cancelDeletion({ ...accounts, db: inside }, user.id, byUser, by)
      const lifetimeSeconds = LIFETIME_SECONDS['password-reset']
      const to = { to: email, userId: user.id }
      await queueMail(outbox, inside, { kind: 'password-ended', ...to, lifetimeSeconds }, origin)
      return { isAdmitted: true }
    },
  })
  if (!done?.isAdmitted) throw tokenRejected()
}
