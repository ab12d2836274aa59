import {
  changeUser,
  findUserById,
  type Origin,
  releaseEmail,
  resetPassword,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { newOpaqueToken } from '@plinth/kit/tokens'
import { type OneTimeToken, spendToken } from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { LIFETIME_SECONDS } from '../limits.ts'
import { queueMail } from '../mail/outbox.ts'
import { withoutNotices } from '../notices/consequences.ts'
import { dropRegistration } from '../registration/held.ts'
import { findToken } from '../tokens/one-time-tokens.ts'
import { tokenRejected } from '../tokens/problems.ts'
import { undoEmailChange } from './email-change.ts'
import type { Recovery } from './recovery.ts'

/**
 * A user's "this was not me" answer to a notice. Ends what a thief may hold: the sessions, the password and the
 * passkeys. The second factor stays, because a mailbox alone must not be able to remove it. A mail lets the user
 * choose a new password. If the address was changed after the notice, that is undone, as with the link in the mail
 * about the change. As the answer to a registration mail it means "I did not register": the account is disabled,
 * and its address is free again, because its owner may want an account.
 */
export async function denyOwnership(
  recovery: Recovery,
  proof: { token: string },
  origin: Origin,
): Promise<void> {
  const { accounts, db, outbox, passkeys } = recovery
  const registration = await findToken({ accounts, db }, 'verify-email', proof)
  if (registration) return disableUnverified(recovery, registration, origin)
  if (await findToken({ accounts, db }, 'not-me-before', proof))
    return undoEmailChange(recovery, proof, origin)
  const token = await findToken({ accounts, db }, 'not-me', proof)
  if (!token) return dropRegistration(recovery, proof.token)
  const user = await findUserById(accounts.db, token.userId)
  if (!user?.enabled || user.email !== token.address) throw tokenRejected()
  const by = { actor: user.username, origin, reason: 'this was not me' }
  const done = await resetPassword(withoutNotices(recovery), user, newOpaqueToken(), by, {
    passkeys,
    async admit(inside: Db<IdentityTables>, now) {
      if (!now.enabled || now.email !== token.address) return { isAdmitted: false }
      if (!(await spendToken(inside, token.id, accounts.clock()))) return { isAdmitted: false }
      const lifetimeSeconds = LIFETIME_SECONDS['password-reset']
      const to = { to: now.email, userId: now.id }
      const mail = { kind: 'password-ended', ...to, lifetimeSeconds } as const
      await queueMail(outbox, inside, mail, origin)
      return { isAdmitted: true }
    },
  })
  if (!done?.isAdmitted) throw tokenRejected()
}

async function disableUnverified(
  { accounts, db }: Recovery,
  token: OneTimeToken,
  origin: Origin,
): Promise<void> {
  await inTransaction(db, async (inside) => {
    const user = await findUserById(inside, token.userId)
    if (!user || user.verified || user.email !== token.address) throw tokenRejected()
    if (!(await spendToken(inside, token.id, accounts.clock()))) throw tokenRejected()
    const by = { actor: user.username, origin, reason: 'the owner of the address did not register' }
    await changeUser({ ...accounts, db: inside }, user.id, { enabled: false }, by)
    await releaseEmail(inside, user.id)
  })
}
