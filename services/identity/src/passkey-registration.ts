import { type Origin, recordEvent, recordRefusal } from '@plinth/accounts'
import { type Caller, inTransaction, isUniqueViolation, newOpaqueToken, Problem } from '@plinth/kit'
import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { decodeBase64url } from './base64url.ts'
import { CEREMONY_SECONDS, issueChallenge, redeemChallenge } from './challenges.ts'
import { readClientData } from './client-data.ts'
import { type Identity, passkeyTables } from './identity.ts'
import {
  claimUserHandle,
  insertPasskey,
  listPasskeys,
  type Passkey,
} from './passkeys.repository.ts'
import { passkeyNotAdded } from './problems.ts'

/** EdDSA, ES256 and RS256, in the order of preference. */
const ALGORITHMS = [-8, -7, -257]
const LONGEST_CREDENTIAL_ID = 1023
const TRANSPORTS = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'])

// With attestation "none" nothing else is expected, and the other formats would have the verifier
// fetch addresses that stand in the caller's own certificate.
const FORMATS = new Set(['none', 'packed'])

export async function registrationOptions(identity: Identity, caller: Caller) {
  const { relyingParty, clock } = identity
  const db = passkeyTables(identity.db)
  const userId = Number(caller.userId)
  const passkeys = await listPasskeys(db, userId)
  return {
    rp: { id: relyingParty.id, name: relyingParty.name },
    user: {
      id: await claimUserHandle(db, userId, newOpaqueToken()),
      name: caller.username,
      displayName: caller.username,
    },
    challenge: await issueChallenge({ db, clock }, 'register', userId),
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: CEREMONY_SECONDS * 1000,
    excludeCredentials: passkeys.map(({ credentialId, transports }) => ({
      type: 'public-key',
      id: credentialId,
      transports,
    })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'preferred',
    },
    attestation: 'none',
    extensions: { credProps: true },
  }
}

type NewPasskey = { credential: RegistrationResponseJSON; label: string }

/** Every way to fail ends in the same answer: the verifier's own words name the challenge. */
export async function registerPasskey(
  identity: Identity,
  caller: Caller,
  passkey: NewPasskey,
  origin: Origin,
): Promise<void> {
  const event = { event: 'PASSKEY_ADDED', actor: caller.username, subject: caller.username }
  try {
    const attested = await verifyAttestation(identity, caller, passkey.credential)
    const now = identity.clock().toISOString()
    const named = { userId: Number(caller.userId), label: passkey.label.trim() }
    await inTransaction(identity.db, async (db) => {
      const dates = { createdAt: now, lastUsedAt: now }
      await insertPasskey(passkeyTables(db), { ...attested, ...named, ...dates })
      await recordEvent({ ...identity, db }, event, origin)
    })
  } catch (cause) {
    const refusal = isUniqueViolation(cause) ? passkeyNotAdded({ cause }) : cause
    if (refusal instanceof Problem) await recordRefusal(identity.accounts, event, origin)
    throw refusal
  }
}

type Attested = Pick<
  Passkey,
  'credentialId' | 'publicKey' | 'counter' | 'backupEligible' | 'transports'
>

async function verifyAttestation(
  identity: Identity,
  caller: Caller,
  credential: RegistrationResponseJSON,
): Promise<Attested> {
  const clientData = readClientData(credential.response?.clientDataJSON)
  if (!clientData) throw passkeyNotAdded()
  const store = { db: passkeyTables(identity.db), clock: identity.clock }
  const { challenge } = clientData
  const redeemed = await redeemChallenge(store, challenge, 'register', Number(caller.userId))
  if (!redeemed || clientData.framed) throw passkeyNotAdded()
  try {
    return await attestedCredential(identity, credential, challenge)
  } catch (cause) {
    throw passkeyNotAdded({ cause })
  }
}

/** The library takes half a second to load, so it is loaded by the first who needs it. */
async function attestedCredential(
  { relyingParty }: Identity,
  credential: RegistrationResponseJSON,
  challenge: string,
): Promise<Attested> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const attestation = decodeBase64url(credential.response.attestationObject)
  if (!attestation) throw new Error('Attestation object not in base64url')
  const format = decodeAttestationObject(attestation).get('fmt')
  if (!FORMATS.has(format)) throw new Error(`Attestation format ${format}`)
  const { registrationInfo } = await verifyRegistrationResponse({
    response: credential,
    expectedChallenge: challenge,
    expectedOrigin: relyingParty.origins,
    expectedRPID: relyingParty.id,
    requireUserVerification: false,
    supportedAlgorithmIDs: ALGORITHMS,
  })
  const attested = registrationInfo?.credential
  if (!attested || attested.id !== credential.id) throw new Error('Not verified')
  if (Buffer.from(attested.id, 'base64url').length > LONGEST_CREDENTIAL_ID)
    throw new Error('Credential id too long')
  return {
    credentialId: attested.id,
    publicKey: Buffer.from(attested.publicKey),
    counter: attested.counter,
    backupEligible: registrationInfo.credentialDeviceType === 'multiDevice',
    transports: [credential.response.transports ?? []]
      .flat()
      .filter((name) => TRANSPORTS.has(name)),
  }
}
