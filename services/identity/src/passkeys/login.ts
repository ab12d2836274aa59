import {
  findUserById,
  lockUser,
  type Origin,
  openSession,
  recordRefusal,
  type TokenPair,
  type User,
} from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { advanceCounter, findPasskey, type Passkey } from '../database/passkeys.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import type { ProvePasskey } from '../factors/reauthentication.ts'
import { CEREMONY_SECONDS } from '../limits.ts'
import { issueChallenge, redeemChallenge } from './challenges.ts'
import { readClientData } from './client-data.ts'
import type { Passkeys } from './passkeys.ts'
import { passkeyRejected } from './problems.ts'

/** Names no user and lists no credential, so it does not reveal who has a passkey. */
export async function authenticationOptions(passkeys: Passkeys) {
  return {
    challenge: await issueChallenge(passkeys, 'authenticate'),
    timeout: CEREMONY_SECONDS * 1000,
    rpId: passkeys.relyingParty.id,
    allowCredentials: [],
    userVerification: passkeys.userVerification,
    extensions: {},
  }
}

/** Opens the same kind of session as a password; every failure gets the same answer. */
export async function logInWithPasskey(
  passkeys: Passkeys,
  credential: unknown,
  origin: Origin,
): Promise<TokenPair> {
  const { passkey, proof } = await readCredential(passkeys, credential)
  const pair =
    passkey && proof ? await openPasskeySession(passkeys, passkey, proof, origin) : undefined
  if (pair) return pair
  await recordRejection(passkeys, passkey, origin)
  throw passkeyRejected()
}

/**
 * The counter advances in the transaction that opens the session: both happen or neither. An account pending
 * deletion is refused, as after a password.
 */
async function openPasskeySession(
  { accounts, clock }: Passkeys,
  { userId, credentialId }: Passkey,
  { amr, counter }: Proof,
  origin: Origin,
) {
  const entry = {
    userId,
    event: 'PASSKEY_USED' as const,
    amr,
    async admit(db: Db<IdentityTables>, locked: Promise<User | undefined>) {
      const user = (await locked) ?? (await lockUser(db, userId))
      if (!user?.enabled && !user?.deletion) return { isAdmitted: false }
      const isAdmitted = await advanceCounter(db, credentialId, counter, clock())
      return { isAdmitted, user }
    },
  }
  const { pair, admission } = await openSession(accounts, entry, origin)
  const { isAdmitted, user } = admission
  if (isAdmitted && user?.deletion) await accounts.turnAway?.run(accounts, user, amr, origin)
  return pair
}

/** For a caller who reauthenticates with one of their own passkeys. */
export function provePasskeyOf(passkeys: Passkeys): ProvePasskey {
  return async (credential, userId) => {
    const { passkey, proof } = await readCredential(passkeys, credential)
    if (!proof || passkey?.userId !== userId) return undefined
    const { amr, counter } = proof
    const { credentialId } = passkey
    return { amr, use: (db) => advanceCounter(db, credentialId, counter, passkeys.clock()) }
  }
}

/** Returns the named passkey even if the proof fails. */
async function readCredential(passkeys: Passkeys, credential: unknown) {
  const assertion = assertionOf(credential)
  const passkey = assertion && (await findPasskey(passkeys.db, assertion.id))
  const proof = assertion && (await verifyAssertion(passkeys, assertion, passkey))
  return { passkey, proof }
}

function assertionOf(credential: unknown): AuthenticationResponseJSON | undefined {
  const { id, response } = (credential ?? {}) as Partial<AuthenticationResponseJSON>
  // Credential ids contain only these characters; PostgreSQL refuses NUL in a parameter.
  const named = typeof id === 'string' && /^[A-Za-z0-9_-]{1,1364}$/.test(id)
  const answered = typeof response === 'object' && response !== null
  return named && answered ? (credential as AuthenticationResponseJSON) : undefined
}

/** The authenticator's new counter and the authentication methods (RFC 8176). */
type Proof = { counter: number; amr: string[] }

/** `undefined` when anything is wrong. */
async function verifyAssertion(
  passkeys: Passkeys,
  assertion: AuthenticationResponseJSON,
  passkey: (Passkey & { userHandle: string }) | undefined,
): Promise<Proof | undefined> {
  const clientData = readClientData(assertion.response.clientDataJSON)
  if (!clientData) return undefined
  const redeemed = await redeemChallenge(passkeys, clientData.challenge, 'authenticate')
  if (!redeemed || clientData.framed || !passkey) return undefined
  if (assertion.response.userHandle !== passkey.userHandle) return undefined
  return checkSignature(passkeys, assertion, { passkey, challenge: clientData.challenge })
}

async function checkSignature(
  { relyingParty, userVerification }: Passkeys,
  assertion: AuthenticationResponseJSON,
  { passkey, challenge }: { passkey: Passkey; challenge: string },
): Promise<Proof | undefined> {
  // Loading takes half a second, so only a ceremony does it. Outside the try: a failure to load is a 500.
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: assertion,
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origins,
      expectedRPID: relyingParty.id,
      requireUserVerification: userVerification === 'required',
      credential: {
        id: passkey.credentialId,
        publicKey: new Uint8Array(passkey.publicKey),
        counter: passkey.counter,
      },
    })
    const eligible = authenticationInfo.credentialDeviceType === 'multiDevice'
    if (!verified || eligible !== passkey.backupEligible) return undefined
    // A passkey with user verification is two factors: the device, and a PIN or fingerprint.
    const key = eligible ? 'swk' : 'hwk'
    const amr = authenticationInfo.userVerified ? [key, 'mfa'] : [key]
    return { counter: authenticationInfo.newCounter, amr }
  } catch {
    return undefined
  }
}

async function recordRejection(
  { accounts }: Passkeys,
  passkey: Passkey | undefined,
  origin: Origin,
): Promise<void> {
  // The account may have been erased meanwhile.
  const owner = passkey && (await findUserById(accounts.db, passkey.userId))
  await recordRefusal(accounts, { event: 'PASSKEY_USED', subject: owner?.username }, origin)
}
