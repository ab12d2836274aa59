import assert from 'node:assert/strict'
import { createHash, type KeyObject, sign } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import type { TestEngine } from '@plinth/kit/testing'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { insertChallenge } from '../src/database/challenges.repository.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import { insertPasskey } from '../src/database/passkeys.repository.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { encodeCbor } from './authenticator.ts'
import { engines, startWithAlice } from './start-identity.ts'
import { PUBLISHED, type Published } from './w3c-published.ts'
import { deriveVector, type Vector } from './w3c-vectors.ts'

/** The service as the relying party of the standard; `issue` stores a challenge of its vectors. */
async function startAsExample(t: TestContext, engine: TestEngine) {
  const started = await startWithAlice(t, {
    engine,
    env: {
      IDENTITY_PASSKEY_RP_ID: 'example.org',
      IDENTITY_PASSKEY_ORIGINS: 'https://example.org',
    },
  })
  const { api, clock, config, token } = started
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  t.after(close)
  const { body: csrf } = await api.get('/webauthn/csrf')
  const headers = { 'x-xsrf-token': csrf.token as string }
  const { body: options } = await api.post('/webauthn/register/options', {}, { token, headers })
  const issue = (challenge: string, ceremony: string, userId: number | null) =>
    insertChallenge(db, {
      challengeHash: hashOpaqueToken(challenge),
      ceremony,
      userId,
      expiresAt: secondsAfter(clock(), 300),
    })
  return { ...started, db, headers, issue, userHandle: options.user.id as string }
}

type Example = Awaited<ReturnType<typeof startAsExample>>
const base64url = (bytes: Buffer) => bytes.toString('base64url')

async function register(
  { api, token, headers, issue, userId }: Example,
  { registration }: Vector,
  attestationObject: Buffer,
) {
  await issue(registration.challenge, 'register', userId)
  const id = base64url(registration.credentialId)
  const response = {
    attestationObject: base64url(attestationObject),
    clientDataJSON: base64url(registration.clientData),
  }
  const credential = { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} }
  const body = { publicKey: { credential, label: 'vector' } }
  return (await api.post('/webauthn/register', body, { token, headers })).status
}

/** Stores a passkey that the service refuses to register, so that a login can be tested. */
async function storePasskey({ db, userId }: Example, { registration }: Vector): Promise<void> {
  await insertPasskey(db, {
    credentialId: base64url(registration.credentialId),
    userId,
    publicKey: registration.publicKey,
    counter: 0,
    backupEligible: registration.backupEligible,
    transports: [],
    label: 'vector',
    createdAt: '2030-01-01T00:00:00.000Z',
    lastUsedAt: '2030-01-01T00:00:00.000Z',
  })
}

async function logIn(
  { api, headers, issue, userHandle }: Example,
  { registration, authentication }: Vector,
  signature: Buffer,
) {
  await issue(authentication.challenge, 'authenticate', null)
  const id = base64url(registration.credentialId)
  const response = {
    authenticatorData: base64url(authentication.authData),
    clientDataJSON: base64url(authentication.clientData),
    signature: base64url(signature),
    userHandle,
  }
  const credential = { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} }
  return (await api.post('/login/webauthn', credential, { headers })).status
}

const hex = (text: string) => Buffer.from(text, 'hex')

function attestationOf(vector: Vector, { attestation }: Published): Buffer {
  if (!attestation) return vector.attestationObject('none', new Map())
  const statement = new Map<string, unknown>([
    ['alg', -7],
    ['sig', hex(attestation.sig)],
  ])
  if (attestation.x5c) statement.set('x5c', [hex(attestation.x5c)])
  return vector.attestationObject('packed', statement)
}

/** The same credential, attested as a FIDO U2F authenticator would, with the published certificate. */
function u2fAttestationOf({ registration, attestationKey }: Vector, certificate: string): Buffer {
  const { authData, clientData, credentialId, publicKey } = registration
  const withoutModel = Buffer.from(authData).fill(0, 37, 53)
  const point = [Buffer.from([4]), publicKey.subarray(-67, -35), publicKey.subarray(-32)]
  const signed = Buffer.concat([
    Buffer.from([0]),
    authData.subarray(0, 32),
    createHash('sha256').update(clientData).digest(),
    credentialId,
    ...point,
  ])
  const statement = new Map<string, unknown>([
    ['x5c', [hex(certificate)]],
    ['sig', sign('sha256', signed, attestationKey as KeyObject)],
  ])
  return encodeCbor(
    new Map<string, unknown>([
      ['fmt', 'fido-u2f'],
      ['attStmt', statement],
      ['authData', withoutModel],
    ]),
  )
}

describe('the test vectors of Web Authentication Level 3, section 16', () => {
  for (const published of PUBLISHED) {
    test(`${published.name}, derived exactly as published`, () => {
      const vector = deriveVector(published.info, published.options)

      const attestation = attestationOf(vector, published)

      assert.equal(createHash('sha256').update(attestation).digest('hex'), published.digest)
    })
  }
})

for (const engine of engines) {
  describe(`the published ceremonies on ${engine.name}`, engine.options, () => {
    for (const published of PUBLISHED) {
      test(published.name, async (t) => {
        const example = await startAsExample(t, engine)
        const vector = deriveVector(published.info, published.options)

        const registered = await register(example, vector, attestationOf(vector, published))
        if (published.refused) await storePasskey(example, vector)
        const loggedIn = await logIn(example, vector, hex(published.signature))

        assert.deepEqual([registered, loggedIn], published.refused ? [400, 401] : [200, 200])
      })
    }

    test('16.2 with one flipped bit in the published signature is refused', async (t) => {
      const example = await startAsExample(t, engine)
      const [published] = PUBLISHED as [Published]
      const vector = deriveVector(published.info, published.options)
      const signature = hex(published.signature)
      signature[40] = (signature[40] ?? 0) ^ 1

      assert.equal(await register(example, vector, attestationOf(vector, published)), 200)
      assert.equal(await logIn(example, vector, signature), 401)
    })

    test('a valid attestation in a format that was not requested is refused', async (t) => {
      const example = await startAsExample(t, engine)
      const published = PUBLISHED.find(({ attestation }) => attestation?.x5c) as Published
      const vector = deriveVector(published.info, published.options)

      const attestation = u2fAttestationOf(vector, published.attestation?.x5c ?? '')

      assert.equal(await register(example, vector, attestation), 400)
    })

    test('16.7 with the signature of another vector in its attestation is refused', async (t) => {
      const example = await startAsExample(t, engine)
      const certified = PUBLISHED.filter(({ attestation }) => attestation?.x5c)
      const [published, other] = certified as [Published, Published]
      const vector = deriveVector(published.info, published.options)
      const sig = other.attestation?.sig ?? ''
      const swapped = { ...published, attestation: { ...published.attestation, sig } }

      assert.equal(await register(example, vector, attestationOf(vector, swapped)), 400)
    })
  })
}
