import {
  type By,
  findUserById,
  identifyCaller,
  lockUser,
  markVerified,
  type Origin,
  recordSecurityEvent,
  requireUser,
  type User,
  userUnknown,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { accessTokenRejected, validationFailed } from '@plinth/kit/problems'
import type { Held } from '../database/held-registrations.repository.ts'
import { type OneTimeToken, spendToken } from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { LIFETIME_SECONDS } from '../limits.ts'
import type { Prepare } from '../mail/delivery.ts'
import { queueMail, requireMail } from '../mail/outbox.ts'
import { accountLink, mayMail } from '../mail/user-mails.ts'
import {
  confirmRegistration,
  findRenewable,
  heldCodes,
  pendingRegistration,
  registrationMail,
  requireHeld,
} from '../registration/held.ts'
import {
  type Codes,
  codesOf,
  findByCode,
  findToken,
  issueToken,
  type Proof,
} from '../tokens/one-time-tokens.ts'
import { tokenRejected } from '../tokens/problems.ts'
import { emailVerified } from './problems.ts'
import { lockOwner, type Recovery, requireReachable } from './recovery.ts'

const KIND = 'verify-email'

export function prepareVerification(recovery: Recovery): Prepare {
  return async (db, { address, originAddress, userAgent }) => {
    const user = await lockOwner(db, address)
    const held = user ? undefined : await findRenewable(recovery, db, address)
    const isDue = user ? user.enabled && !user.verified : held !== undefined
    const origin = { address: originAddress, userAgent, requestId: null }
    if (!(await mayMail(recovery, db, { kind: KIND, user, isDue, to: address, origin }))) return
    if (held) return registrationMail(recovery, db, held)
    if (!user) return
    return { kind: KIND, userId: user.id, details: await issueDetails(recovery, db, user) }
  }
}

async function issueDetails(recovery: Recovery, db: Db<IdentityTables>, user: User) {
  const { accounts } = recovery
  const wanted = { userId: user.id, kind: KIND, address: user.email } as const
  const { code, token } = await issueToken({ accounts, db }, wanted)
  const link = accountLink(recovery, 'verify', token)
  return { date: user.createdAt, code, link }
}

/** Sends the mail again at once, without regard to the limits of an address. */
export async function resendByAdministrator(
  recovery: Recovery,
  userId: number,
  { actor, origin, reason }: By,
): Promise<void> {
  const { accounts, db, outbox } = recovery
  requireMail(outbox)
  await inTransaction(db, async (inside) => {
    const user = await lockUser(inside, userId)
    if (!user) throw userUnknown()
    requireReachable(recovery.outbox, user)
    if (user.verified) throw emailVerified()
    const details = await issueDetails(recovery, inside, user)
    const lifetimeSeconds = LIFETIME_SECONDS[KIND]
    const mail = { kind: KIND, to: user.email, userId, details, lifetimeSeconds } as const
    await queueMail(outbox, inside, mail, origin)
    const event = {
      event: 'VERIFICATION_SENT',
      actor,
      reason,
      subject: user.username,
      userId,
    } as const
    await recordSecurityEvent({ ...accounts, db: inside }, event, origin)
  })
}

/** Verifying again with the same token or code succeeds until it expires: people press a button twice. */
export async function verifyEmail(recovery: Recovery, proof: Proof, origin: Origin): Promise<void> {
  const { accounts, db } = recovery
  const token = await findProof(recovery, proof, origin)
  if (!('userId' in token)) return confirmRegistration(recovery, token, origin)
  const user = await findUserById(accounts.db, token.userId)
  if (!user?.enabled || user.email !== token.address) throw tokenRejected()
  await inTransaction(db, async (inside) => {
    const now = accounts.clock()
    if (!(await spendToken(inside, token.id, now))) {
      const again = await findUserById(inside, user.id)
      if (again?.email !== user.email || !again.verified) throw tokenRejected()
      return
    }
    await markVerified(inside, user)
    const { username, id: userId } = user
    const event = { event: 'EMAIL_VERIFIED', actor: username, subject: username, userId } as const
    await recordSecurityEvent({ ...accounts, db: inside }, event, origin)
  })
}

/** Finds the proof of an account or, before there is one, of a registration. A wrong code counts once for both. */
async function findProof(
  recovery: Recovery,
  { token, ...proof }: Proof,
  origin: Origin,
): Promise<OneTimeToken | Held> {
  const { accounts, db } = recovery
  if (token !== undefined)
    return (
      (await findToken({ accounts, db }, KIND, { token })) ?? (await requireHeld(recovery, token))
    )
  const guess = { event: 'EMAIL_VERIFIED', origin } as const
  const found = await findByCode(recovery, proof, guess, codesToVerify)
  if (!found || found.expiresAt <= accounts.clock().toISOString()) throw tokenRejected()
  return found
}

function codesToVerify(db: Db<IdentityTables>): Codes<OneTimeToken | Held> {
  const [tokens, held] = [codesOf(db, KIND), heldCodes(db)]
  return {
    take: async (address, most) => [
      ...(await tokens.take(address, most)),
      ...(await held.take(address, most)),
    ],
    forgive: (found) => ('userId' in found ? tokens.forgive(found) : held.forgive(found)),
  }
}

/** What the account page shows before its button is pressed, to whoever holds the link. */
export async function pendingVerification(recovery: Recovery, token: string) {
  const { accounts, db } = recovery
  const found = await findToken({ accounts, db }, KIND, { token })
  if (!found) return pendingRegistration(recovery, token)
  const user = await findUserById(accounts.db, found.userId)
  if (!user || user.email !== found.address) throw tokenRejected()
  return { username: user.username, email: user.email, createdAt: user.createdAt }
}

export async function addressOfCaller({ accounts }: Recovery, accessToken: string) {
  if (accessToken === '') throw validationFailed(['email: is required, or an access token'])
  const caller = await identifyCaller(accounts, accessToken)
  if (!caller) throw accessTokenRejected()
  return (await requireUser(accounts, Number(caller.userId))).email
}
