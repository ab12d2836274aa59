import { createHash, randomInt } from 'node:crypto'
import {
  admitRegistration,
  credentialsRejected,
  findUserByEmail,
  lockUser,
  NO_PASSWORD,
  normalName,
  type Origin,
  openSession,
  recordRefusal,
  registerVerified,
  registrationClosed,
  type TokenPair,
  type User,
} from '@plinth/accounts'
import { type Db, inTransaction, isUniqueViolation } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import {
  insertUnlinked,
  spendTicket,
  type UnlinkedIdentity,
} from '../database/federation.repository.ts'
import { findIdentity, type Identity, updateUsed } from '../database/identities.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { FEDERATION_SECONDS } from '../limits.ts'
import { emptyAccount } from '../recovery/emptying.ts'
import { lockOwner } from '../recovery/recovery.ts'
import type { Federation } from './federation.ts'
import { addIdentity, identitiesOf, linkOwnIdentity, type NewIdentity } from './identities.ts'
import { accountExists, emailNotVerifiedByProvider, ticketInvalid } from './problems.ts'
import type { ProviderSettings } from './settings.ts'

const EVENT = 'IDENTITY_USED' as const
const AMR = ['fed']

type Ticket = { ticket: string; verifier: string }

type Finished = TokenPair | Awaited<ReturnType<typeof identitiesOf>>

/** Signs in or, if the caller began to link an identity, links it. */
export async function finishSignIn(
  federation: Federation,
  { ticket, verifier }: Ticket,
  origin: Origin,
  caller?: Caller,
): Promise<Finished> {
  const { accounts, db, providers } = federation
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const session = caller && {
    userId: Number(caller.userId),
    sessionId: Number(caller.sessionId),
  }
  const proof = { ticketHash: hashOpaqueToken(ticket), challenge, ...(session && { session }) }
  const spent = await spendTicket(db, proof, accounts.clock())
  const provider = spent && providers.get(spent.provider)
  if (!spent || !provider) throw ticketInvalid()
  const { issuer, subject, email } = spent
  const identity = { provider: spent.provider, issuer, subject, email }
  if (spent.userId !== null && caller) {
    await linkOwnIdentity(federation, caller, identity, origin)
    return identitiesOf(federation, spent.userId)
  }
  const proved = { identity, address: spent.emailVerified === 1 ? addressOf(email) : undefined }
  return signIn(federation, provider.settings, proved, origin)
}

/** The identity, and the address if the provider has verified it. */
type Proved = { identity: NewIdentity; address: string | undefined }

const ADDRESS = /^[^\s@]{1,64}@[^\s@]+$/
const MAX_ADDRESS = 254

function addressOf(email: string | null): string | undefined {
  const address = normalName(email ?? '')
  return ADDRESS.test(address) && address.length <= MAX_ADDRESS ? address : undefined
}

/** A new identity is linked and then found; meanwhile a concurrent sign-in may have linked it, or taken the address. */
const MAX_TRIES = 3

async function signIn(
  federation: Federation,
  settings: ProviderSettings,
  proved: Proved,
  origin: Origin,
): Promise<TokenPair> {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const known = await findIdentity(federation.db, proved.identity)
    if (known) return openIdentitySession(federation, known, proved.identity, origin)
    await welcome(federation, settings, proved, origin).catch((error) => {
      if (!isUniqueViolation(error)) throw error
    })
  }
  throw refused()
}

/** Creates an account for a new identity, or links it to that of its verified address; refuses otherwise. */
async function welcome(
  federation: Federation,
  settings: ProviderSettings,
  { identity, address }: Proved,
  origin: Origin,
): Promise<void> {
  if (address === undefined) {
    requireSignUp(federation, settings)
    const signUpToken = await keepUnlinked(federation, { ...identity, email: null }, 'sign-up')
    throw emailNotVerifiedByProvider({ extra: { signUpToken } })
  }
  if (!(await findUserByEmail(federation.db, address))) {
    requireSignUp(federation, settings)
    await admitRegistration(federation.accounts, origin)
  }
  const refusal = await inTransaction(federation.db, async (db) => {
    const owner = await lockOwner(db, address)
    if (!owner) {
      requireSignUp(federation, settings)
      await createAccount(federation, db, { address, identity }, origin)
      return undefined
    }
    if (await findIdentity(db, identity)) return undefined
    if (!settings.linkByEmail) {
      const wanted = { ...identity, email: address }
      const linkToken = await keepUnlinked({ ...federation, db }, wanted, 'link')
      return accountExists({ extra: { linkToken } })
    }
    if (!owner.enabled) return refused()
    if (!owner.verified) await emptyAccount(federation, db, owner, origin)
    await addIdentity(federation, db, owner, identity, origin)
    return undefined
  })
  // Thrown only after the commit, so that the token is kept.
  if (refusal) throw refusal
}

export function requireSignUp(
  { accounts }: Federation,
  { signUp }: Pick<ProviderSettings, 'signUp'>,
): void {
  if (!signUp || !accounts.registrationIsOpen()) throw registrationClosed()
}

/** Keeps an identity that no account has yet; the token lets its owner go on. */
export async function keepUnlinked(
  { accounts, db }: Pick<Federation, 'accounts' | 'db'>,
  { provider, issuer, subject, email }: NewIdentity,
  purpose: UnlinkedIdentity['purpose'],
): Promise<string> {
  const token = newOpaqueToken()
  await insertUnlinked(db, {
    tokenHash: hashOpaqueToken(token),
    purpose,
    provider,
    issuer,
    subject,
    email,
    expiresAt: secondsAfter(accounts.clock(), FEDERATION_SECONDS).toISOString(),
    usedAt: null,
  })
  return token
}

type NewAccount = { address: string; identity: NewIdentity }

/** Without a password; one can be chosen with a reset mail. */
export async function createAccount(
  federation: Federation,
  db: Db<IdentityTables>,
  { address: email, identity }: NewAccount,
  origin: Origin,
): Promise<void> {
  const accounts = { ...federation.accounts, db }
  await registerVerified(
    accounts,
    { username: newUsername(), email, passwordHash: NO_PASSWORD },
    origin,
  )
  const user = await findUserByEmail(db, email)
  if (!user) throw new Error('The new account has no row')
  await addIdentity(federation, db, user, identity, origin)
}

const LETTERS = 'abcdefghjkmnpqrstvwxyz23456789'
const NAME_LENGTH = 12

/** Made up: what providers know of a person is not ours to publish, and could be somebody else's name here. */
function newUsername(): string {
  const letters = Array.from({ length: NAME_LENGTH }, () => LETTERS[randomInt(LETTERS.length)])
  return `user-${letters.join('')}`
}

/** The same kind of session as after a password; the gate asks for the second factor. */
export async function openIdentitySession(
  { accounts }: Federation,
  known: Identity,
  { provider, email }: Pick<NewIdentity, 'provider' | 'email'>,
  origin: Origin,
): Promise<TokenPair> {
  const { userId } = known
  const entry = {
    userId,
    event: EVENT,
    amr: AMR,
    async admit(db: Db<IdentityTables>, locked: Promise<User | undefined>) {
      const user = (await locked) ?? (await lockUser(db, userId))
      if (!user?.enabled && !user?.deletion) return { isAdmitted: false, user }
      const isAdmitted = await updateUsed(db, known, { provider, email, now: accounts.clock() })
      return { isAdmitted, user }
    },
  }
  const { pair, admission } = await openSession(accounts, entry, origin)
  if (pair) return pair
  const { isAdmitted, user } = admission
  if (isAdmitted && user?.deletion) await accounts.turnAway?.run(accounts, user, AMR, origin)
  await recordRefusal(accounts, { event: EVENT, subject: user?.username }, origin)
  throw refused()
}

function refused() {
  return credentialsRejected({ detail: 'This account cannot be signed in to.' })
}
