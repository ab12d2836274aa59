import {
  markVerified,
  type Origin,
  recordSecurityEvent,
  resetPassword,
  type User,
} from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import type { IdentityTables } from '../database/tables.ts'
import { dropSecondFactor } from '../factors/second-factor.ts'
import { LIFETIME_SECONDS } from '../limits.ts'
import { canSend, queueMail } from '../mail/outbox.ts'
import { withoutNotices } from '../notices/consequences.ts'
import type { Recovery } from './recovery.ts'

/**
 * The first proof that an address belongs to its owner. Until then anyone may have created the account with it, so
 * no password, passkey, factor, identity or session from before works any more (pre-hijacking). Runs in the
 * caller's transaction, with the user's row locked. A mail says how to choose a password; it does not contain the
 * username, which a stranger may have chosen.
 */
export async function emptyAccount(
  recovery: Recovery,
  db: Db<IdentityTables>,
  user: User,
  origin: Origin,
): Promise<void> {
  const { outbox, passkeys, publicUrl } = recovery
  const accounts = { ...withoutNotices(recovery), db }
  const { id: userId, username, email: to } = user
  const by = { actor: username, origin, reason: 'the address was proved for the first time' }
  await resetPassword(accounts, user, undefined, by, {
    passkeys,
    async admit(inside: Db<IdentityTables>, now) {
      await dropSecondFactor({ ...accounts, db: inside }, inside, now, by)
      await markVerified(inside, now)
      return { isAdmitted: true }
    },
  })
  const event = { event: 'EMAIL_VERIFIED', actor: username, subject: username, userId } as const
  await recordSecurityEvent(accounts, event, origin)
  if (!canSend(outbox)) return
  const details = { link: `${publicUrl}/account/#forgot` }
  const lifetimeSeconds = LIFETIME_SECONDS['password-reset']
  const mail = { kind: 'account-emptied', to, userId, details, lifetimeSeconds } as const
  await queueMail(outbox, db, mail, origin)
}
