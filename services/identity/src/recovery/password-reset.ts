import {
  type Accounts,
  type Admission,
  type By,
  findUserById,
  markVerified,
  type Origin,
  refuseGuessable,
  requireUser,
  resetPassword,
  type User,
} from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import { validationFailed } from '@plinth/kit/problems'
import { DAY_SECONDS } from '@plinth/kit/runtime'
import { newOpaqueToken } from '@plinth/kit/tokens'
import { spendToken } from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import {
  dropSecondFactor,
  type Outcome,
  proveSecondFactor,
  signInRefusal,
} from '../factors/second-factor.ts'
import type { Prepare } from '../mail/delivery.ts'
import type { MailKind } from '../mail/messages.ts'
import { queueMail, requireMail } from '../mail/outbox.ts'
import { accountLink, mayMail } from '../mail/user-mails.ts'
import { withoutNotices } from '../notices/consequences.ts'
import { findProved, issueToken, type Proof } from '../tokens/one-time-tokens.ts'
import { tokenRejected } from '../tokens/problems.ts'
import { lockOwner, type Recovery, requireReachable } from './recovery.ts'

const KIND = 'password-reset'
const BY_ADMINISTRATOR = 'password-reset-by-administrator'
const KEEPING_PASSKEYS = 'password-reset-keeping-passkeys'
/** Mails whose token is of the kind `BY_ADMINISTRATOR`, which lives longer. */
const LONG_LIVED: string[] = [BY_ADMINISTRATOR, KEEPING_PASSKEYS, 'invitation']
const BY_MAIL = [KIND, BY_ADMINISTRATOR] as const
/** Proves the old password, but no address. */
const AFTER_LOGIN = 'password-change'

/**
 * Disabled users get no mail, like unknown addresses. Only requests by address are rate-limited: a mail to a known
 * user, whose password no longer works, must arrive whatever strangers request.
 */
export function prepareReset(recovery: Recovery): Prepare {
  const { accounts } = recovery
  return async (db, { kind, address, userId, expiresAt, originAddress, userAgent }) => {
    const user = await lockOwner(db, address)
    const isDue = user?.enabled === true
    const origin = { address: originAddress, userAgent, requestId: null }
    const mail = { kind: KIND, user, isDue, to: address, origin } as const
    if (userId === null && !(await mayMail(recovery, db, mail))) return
    if (!user?.enabled) return
    const tokenKind = LONG_LIVED.includes(kind) ? BY_ADMINISTRATOR : KIND
    const wanted = { userId: user.id, kind: tokenKind, address, expiresAt } as const
    const { code, token } = await issueToken({ accounts, db }, wanted)
    const details = { code, link: accountLink(recovery, 'reset', token) }
    return { kind: kind as MailKind, userId: user.id, details, reader: user }
  }
}

/**
 * An administrator never sets a user's password: the old one stops working, every session ends, the passkeys are
 * removed, and the user gets a mail to choose a new password.
 */
export async function resetByAdministrator(
  recovery: Recovery,
  userId: number,
  { keepPasskeys = false }: { keepPasskeys?: boolean },
  by: By,
): Promise<void> {
  const { accounts, outbox, passkeys } = recovery
  requireMail(outbox)
  const user = await requireUser(accounts, userId)
  requireReachable(recovery.outbox, user)
  await resetPassword(withoutNotices(recovery), user, newOpaqueToken(), by, {
    ...(!keepPasskeys && { passkeys }),
    async admit(inside: Db<IdentityTables>, now) {
      requireReachable(recovery.outbox, now)
      const mail = {
        kind: keepPasskeys ? KEEPING_PASSKEYS : BY_ADMINISTRATOR,
        to: now.email,
        userId,
        lifetimeSeconds: DAY_SECONDS,
      } as const
      await queueMail(outbox, inside, mail, by.origin)
      return { isAdmitted: true }
    },
  })
}

/** What a reset has removed besides the password. */
type Removed = ('passkeys' | 'totp')[]

type Confirmation = Proof & { newPassword: string; totp?: string; recoveryCode?: string }

/**
 * Sets the password, ends every session and verifies the address. An account with a second factor requires it
 * here too. If the address was not verified before, a stranger may have created the account with it: then its
 * passkeys and second factor are removed.
 */
export async function confirmPasswordReset(
  recovery: Recovery,
  { newPassword, totp: code, recoveryCode, ...proof }: Confirmation,
  origin: Origin,
): Promise<Removed> {
  const { accounts, db, passkeys, factors } = recovery
  const kinds = proof.token === undefined ? BY_MAIL : ([...BY_MAIL, AFTER_LOGIN] as const)
  const guess = { event: 'PASSWORD_RESET', origin } as const
  const token = await findProved({ accounts, db }, kinds, proof, guess)
  const user = token && (await findUserById(accounts.db, token.userId))
  if (!token || token.usedAt !== null || !user?.enabled) throw tokenRejected()
  await refuseGuessable(accounts, user, newPassword, 'newPassword')
  if (user.passwordExpired) await refuseSame(accounts, user, newPassword, origin)
  const byMail = token.kind !== AFTER_LOGIN
  const unverified = byMail && !user.verified
  const by = { actor: user.username, origin }
  const given = {
    ...(code !== undefined && { code }),
    ...(recoveryCode !== undefined && { recoveryCode }),
  }
  const done = await resetPassword(accounts, user, newPassword, by, {
    ...(unverified && { passkeys }),
    async admit(inside: Db<IdentityTables>, now): Promise<Checked> {
      if (!now.enabled || now.email !== token.address) return { isAdmitted: false }
      if (!unverified && now.secondFactor) {
        const outcome = await proveSecondFactor(factors, inside, now, given, origin)
        if (outcome !== 'passed') return { isAdmitted: false, outcome }
      }
      // Throwing rolls back, so that a code of the second factor is not used up for nothing.
      if (!(await spendToken(inside, token.id, accounts.clock()))) throw tokenRejected()
      if (unverified) await dropSecondFactor(accounts, inside, now, by)
      if (byMail) await markVerified(inside, now)
      return { isAdmitted: true, hadFactor: now.secondFactor }
    },
  })
  if (!done?.isAdmitted)
    throw done?.outcome ? signInRefusal(accounts, done.outcome) : tokenRejected()
  return [
    ...(done.passkeysRemoved > 0 ? (['passkeys'] as const) : []),
    ...(unverified && done.hadFactor ? (['totp'] as const) : []),
  ]
}

/** `outcome` is why the second factor was refused. */
type Checked = Admission & { outcome?: Outcome; hadFactor?: boolean }

/** A password that must be changed may be known to others, so it cannot be chosen again. */
async function refuseSame(
  { passwords }: Accounts,
  { passwordHash }: User,
  newPassword: string,
  { address }: Origin,
): Promise<void> {
  if (await passwords.verify(passwordHash, newPassword, address))
    throw validationFailed(['newPassword: must not be the current password'])
}
