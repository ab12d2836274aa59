import { lockCaller, type Origin, recordRefusal, recordSecurityEvent } from '@plinth/accounts'
import { inTransaction, isUniqueViolation } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { Problem } from '@plinth/kit/problems'
import { newOpaqueToken } from '@plinth/kit/tokens'
import type { RegistrationResponseJSON, VerifiedRegistrationResponse } from '@simplewebauthn/server'
import {
  claimUserHandle,
  insertPasskey,
  listPasskeys,
  type Passkey,
} from '../database/passkeys.repository.ts'
import { CEREMONY_SECONDS } from '../limits.ts'
import { issueChallenge, redeemChallenge } from './challenges.ts'
import { decodeBase64url, readClientData } from './client-data.ts'
import type { Passkeys } from './passkeys.ts'
import { passkeyNotAdded } from './problems.ts'

/** EdDSA, ES256 and RS256, in order of preference. */
const ALGORITHMS = [-8, -7, -257]
const MAX_CREDENTIAL_ID = 1023
const TRANSPORTS = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'])

// We ask for no attestation. For other formats the verifier would fetch URLs from the caller's own
// certificate.
const FORMATS = new Set(['none', 'packed'])

export async function registrationOptions(passkeys: Passkeys, caller: Caller) {
  const { db, relyingParty } = passkeys
  const userId = Number(caller.userId)
  const registered = await listPasskeys(db, userId)
  return {
    rp: { id: relyingParty.id, name: relyingParty.name },
    user: {
      id: await claimUserHandle(db, userId, newOpaqueToken()),
      name: caller.username,
      displayName: caller.username,
    },
    challenge: await issueChallenge(passkeys, 'register', userId),
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: CEREMONY_SECONDS * 1000,
    excludeCredentials: registered.map(({ credentialId, transports }) => ({
      type: 'public-key',
      id: credentialId,
      transports,
    })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: passkeys.userVerification,
    },
    attestation: 'none',
    extensions: { credProps: true },
  }
}

type NewPasskey = { credential: RegistrationResponseJSON; label: string }

/** Every failure gets the same answer: the verifier's own message contains the challenge. */
export async function registerPasskey(
  passkeys: Passkeys,
  caller: Caller,
  { credential, label }: NewPasskey,
  origin: Origin,
): Promise<void> {
  const { accounts, db, clock } = passkeys
  const who = { actor: caller.username, subject: caller.username, userId: Number(caller.userId) }
  const event = { event: 'PASSKEY_ADDED', ...who } as const
  try {
    const attested = await verifyAttestation(passkeys, caller, credential)
    const now = clock().toISOString()
    const named = { userId: Number(caller.userId), label: label.trim() }
    await inTransaction(db, async (transaction) => {
      await lockCaller(transaction, caller)
      await insertPasskey(transaction, { ...attested, ...named, createdAt: now, lastUsedAt: now })
      await recordSecurityEvent({ ...accounts, db: transaction }, event, origin)
    })
  } catch (cause) {
    const refusal = isUniqueViolation(cause) ? passkeyNotAdded({ cause }) : cause
    if (refusal instanceof Problem) await recordRefusal(accounts, event, origin)
    throw refusal
  }
}

type Attested = Pick<
  Passkey,
  'credentialId' | 'publicKey' | 'counter' | 'backupEligible' | 'transports'
>

async function verifyAttestation(
  passkeys: Passkeys,
  caller: Caller,
  credential: RegistrationResponseJSON,
): Promise<Attested> {
  const clientData = readClientData(credential.response?.clientDataJSON)
  if (!clientData) throw passkeyNotAdded()
  const { challenge, framed } = clientData
  const redeemed = await redeemChallenge(passkeys, challenge, 'register', Number(caller.userId))
  if (!redeemed || framed) throw passkeyNotAdded()
  return checkAttestation(passkeys, credential, challenge)
}

async function checkAttestation(
  { relyingParty, userVerification }: Passkeys,
  credential: RegistrationResponseJSON,
  challenge: string,
): Promise<Attested> {
  // Loading takes half a second, so only a ceremony does it. Outside the try: a failure to load is a 500.
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  try {
    const attestation = decodeBase64url(credential.response.attestationObject)
    if (!attestation) throw new Error('The attestation object is not base64url')
    const format = decodeAttestationObject(attestation).get('fmt')
    if (!FORMATS.has(format)) throw new Error(`The attestation format is ${format}`)
    const { registrationInfo } = await verifyRegistrationResponse({
      response: credential,
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origins,
      expectedRPID: relyingParty.id,
      requireUserVerification: userVerification === 'required',
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (registrationInfo?.credential.id !== credential.id) throw new Error('Not verified')
    return attestedBy(registrationInfo, credential)
  } catch (cause) {
    throw passkeyNotAdded({ cause })
  }
}

type RegistrationInfo = NonNullable<VerifiedRegistrationResponse['registrationInfo']>

function attestedBy(
  { credential: { id, publicKey, counter }, credentialDeviceType }: RegistrationInfo,
  { response }: RegistrationResponseJSON,
): Attested {
  if (Buffer.from(id, 'base64url').length > MAX_CREDENTIAL_ID)
    throw new Error('The credential id is too long')
  return {
    credentialId: id,
    publicKey: Buffer.from(publicKey),
    counter,
    backupEligible: credentialDeviceType === 'multiDevice',
    transports: [response.transports ?? []].flat().filter((name) => TRANSPORTS.has(name)),
  }
}
