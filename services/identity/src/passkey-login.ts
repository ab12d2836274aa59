import {
  type Origin,
  openSession,
  recordRefusal,
  requireUser,
  type TokenPair,
} from '@plinth/accounts'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { CEREMONY_SECONDS, issueChallenge, redeemChallenge } from './challenges.ts'
import { readClientData } from './client-data.ts'
import { type Identity, passkeyTables } from './identity.ts'
import { advanceCounter, findPasskey, type Passkey } from './passkeys.repository.ts'
import { passkeyRejected } from './problems.ts'

/** No user is named and no credential listed: whoever asks learns nothing about who has one. */
export async function authenticationOptions({ db, clock, relyingParty }: Identity) {
  return {
    challenge: await issueChallenge({ db: passkeyTables(db), clock }, 'authenticate'),
    timeout: CEREMONY_SECONDS * 1000,
    rpId: relyingParty.id,
    allowCredentials: [],
    userVerification: 'preferred',
    extensions: {},
  }
}

/** Ends in the same kind of session as a password, or in one answer for all that can be wrong. */
export async function logInWithPasskey(
  identity: Identity,
  credential: unknown,
  origin: Origin,
): Promise<TokenPair> {
  const assertion = assertionOf(credential)
  const passkey = assertion && (await findPasskey(passkeyTables(identity.db), assertion.id))
  const counter = assertion && (await verifyAssertion(identity, assertion, passkey))
  const pair =
    passkey && counter !== undefined ? await enter(identity, passkey, counter, origin) : undefined
  if (pair) return pair
  await recordRejection(identity, passkey, origin)
  throw passkeyRejected()
}

/** The counter is moved on in the transaction that opens the session: both happen or neither. */
function enter({ accounts, clock }: Identity, passkey: Passkey, counter: number, origin: Origin) {
  return openSession(
    accounts,
    {
      userId: passkey.userId,
      event: 'PASSKEY_USED',
      admit: (db) => advanceCounter(passkeyTables(db), passkey.credentialId, counter, clock()),
    },
    origin,
  )
}

function assertionOf(credential: unknown): AuthenticationResponseJSON | undefined {
  const { id, response } = (credential ?? {}) as Partial<AuthenticationResponseJSON>
  // PostgreSQL cannot compare with a NUL, and no credential id has anything outside this alphabet.
  const named = typeof id === 'string' && /^[A-Za-z0-9_-]{1,1364}$/.test(id)
  const answered = typeof response === 'object' && response !== null
  return named && answered ? (credential as AuthenticationResponseJSON) : undefined
}

/** Returns the authenticator's new counter, or nothing when anything at all is wrong. */
async function verifyAssertion(
  identity: Identity,
  assertion: AuthenticationResponseJSON,
  passkey: (Passkey & { userHandle: string }) | undefined,
): Promise<number | undefined> {
  const clientData = readClientData(assertion.response.clientDataJSON)
  if (!clientData) return undefined
  const store = { db: passkeyTables(identity.db), clock: identity.clock }
  const redeemed = await redeemChallenge(store, clientData.challenge, 'authenticate')
  if (!redeemed || clientData.framed || !passkey) return undefined
  if (assertion.response.userHandle !== passkey.userHandle) return undefined
  return checkSignature(identity, assertion, { passkey, challenge: clientData.challenge })
}

async function checkSignature(
  { relyingParty }: Identity,
  assertion: AuthenticationResponseJSON,
  { passkey, challenge }: { passkey: Passkey; challenge: string },
): Promise<number | undefined> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: assertion,
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origins,
      expectedRPID: relyingParty.id,
      requireUserVerification: false,
      credential: {
        id: passkey.credentialId,
        publicKey: new Uint8Array(passkey.publicKey),
        counter: passkey.counter,
      },
    })
    const eligible = authenticationInfo.credentialDeviceType === 'multiDevice'
    if (!verified || eligible !== passkey.backupEligible) return undefined
    return authenticationInfo.newCounter
  } catch {
    return undefined
  }
}

async function recordRejection(
  { accounts }: Identity,
  passkey: Passkey | undefined,
  origin: Origin,
): Promise<void> {
  const owner = passkey && (await requireUser(accounts, passkey.userId))
  await recordRefusal(accounts, { event: 'PASSKEY_USED', subject: owner?.username }, origin)
}
