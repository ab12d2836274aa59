import {
  type Accounts,
  type By,
  lockCaller,
  NO_PASSWORD,
  type Origin,
  recordSecurityEvent,
  requireUser,
  type User,
} from '@plinth/accounts'
import { type Db, inTransaction, isUniqueViolation } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { spendUnlinked } from '../database/federation.repository.ts'
import {
  deleteIdentities,
  findIdentity,
  insertIdentity,
  listIdentities,
} from '../database/identities.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import type { Federation } from './federation.ts'
import { identityInUse, identityUnknown, lastSignInMethod, ticketInvalid } from './problems.ts'

/** An identity that is about to be linked. */
export type NewIdentity = {
  provider: string
  issuer: string
  subject: string
  email: string | null
}

/** What users see of their identities. */
export async function identitiesOf({ db }: Pick<Federation, 'db'>, userId: number) {
  const identities = await listIdentities(db, userId)
  return identities.map(({ id, provider, email, createdAt, lastUsedAt }) => ({
    id,
    provider,
    email,
    createdAt,
    lastUsedAt,
  }))
}

export async function identitiesOfUser(federation: Federation, userId: number) {
  const { id } = await requireUser(federation.accounts, userId)
  return identitiesOf(federation, id)
}

/** Links an identity to a user, in a transaction that has locked the user. */
export async function addIdentity(
  { accounts }: { accounts: Accounts },
  db: Db<IdentityTables>,
  user: Pick<User, 'id' | 'username'>,
  identity: NewIdentity,
  origin: Origin,
): Promise<void> {
  const now = accounts.clock().toISOString()
  await insertIdentity(db, { ...identity, userId: user.id, createdAt: now, lastUsedAt: now })
  const who = { actor: user.username, subject: user.username, userId: user.id }
  const event = { event: 'IDENTITY_LINKED', ...who } as const
  await recordSecurityEvent({ ...accounts, db }, event, origin)
}

/** Links the identity that the caller has just signed in with at the provider. */
export async function linkOwnIdentity(
  federation: Federation,
  caller: Caller,
  identity: NewIdentity,
  origin: Origin,
): Promise<void> {
  await linking(federation, caller, async (db, user) => {
    const known = await findIdentity(db, identity)
    if (known && known.userId !== user.id) throw identityInUse()
    if (!known) await addIdentity(federation, db, user, identity, origin)
  })
}

/**
 * After a 409 ACCOUNT_EXISTS. The token works only for the account that has the address now: the provider has
 * vouched for the address, and for nothing else.
 */
export async function linkByToken(
  federation: Federation,
  caller: Caller,
  linkToken: string,
  origin: Origin,
): Promise<void> {
  const now = federation.accounts.clock()
  await linking(federation, caller, async (db, user) => {
    const token = { tokenHash: hashOpaqueToken(linkToken), purpose: 'link' } as const
    const spent = await spendUnlinked(db, { ...token, email: user.email }, now)
    if (!spent) throw ticketInvalid()
    const { provider, issuer, subject, email } = spent
    await addIdentity(federation, db, user, { provider, issuer, subject, email }, origin)
  })
}

async function linking(
  { accounts, db }: Federation,
  caller: Caller,
  work: (db: Db<IdentityTables>, user: User) => Promise<void>,
): Promise<void> {
  try {
    await inTransaction(db, async (inside) => {
      await lockCaller(inside, caller)
      await work(inside, await requireUser({ ...accounts, db: inside }, Number(caller.userId)))
    })
  } catch (error) {
    throw isUniqueViolation(error) ? identityInUse() : error
  }
}

/** Refused if no way to sign in would be left: the owner would be locked out. */
export async function unlinkIdentity(
  federation: Federation,
  caller: Caller,
  id: number,
  origin: Origin,
): Promise<void> {
  const { accounts, db } = federation
  await inTransaction(db, async (inside) => {
    await lockCaller(inside, caller)
    const within = { ...accounts, db: inside }
    const user = await requireUser(within, Number(caller.userId))
    if ((await deleteIdentities(inside, user.id, { id })) === 0) throw identityUnknown()
    if (!(await hasWayIn(federation, inside, user))) throw lastSignInMethod()
    const who = { actor: user.username, subject: user.username, userId: user.id }
    await recordSecurityEvent(within, { event: 'IDENTITY_UNLINKED', ...who }, origin)
  })
}

async function hasWayIn(
  { passkeys, passkeysOn, providers }: Federation,
  db: Db<IdentityTables>,
  { id, passwordHash }: User,
): Promise<boolean> {
  if (passwordHash !== NO_PASSWORD) return true
  if (passkeysOn && (await passkeys.list(db, id)).length > 0) return true
  return (await listIdentities(db, id)).some(({ provider }) => providers.has(provider))
}

/** For an administrator. Unlike its owner, they may remove the last way in: a reset mail opens another. */
export async function removeIdentity(
  { accounts, db }: Federation,
  { userId, id }: { userId: number; id: number },
  { actor, origin, reason }: By,
): Promise<void> {
  const { username: subject } = await requireUser(accounts, userId)
  await inTransaction(db, async (inside) => {
    if ((await deleteIdentities(inside, userId, { id })) === 0) throw identityUnknown()
    const event = { event: 'IDENTITY_UNLINKED', actor, reason, subject, userId } as const
    await recordSecurityEvent({ ...accounts, db: inside }, event, origin)
  })
}

/** What removes all passkeys of a user removes the identities too: one of them may be a thief's. */
export async function removeIdentities(
  accounts: Accounts & { db: Db<IdentityTables> },
  { id: userId, username }: User,
  { actor, origin, reason }: By,
): Promise<void> {
  if ((await deleteIdentities(accounts.db, userId, 'all')) === 0) return
  const event = { event: 'IDENTITY_UNLINKED', actor, reason, subject: username, userId } as const
  await recordSecurityEvent(accounts, event, origin)
}
