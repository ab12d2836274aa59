import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { hashOpaqueToken, openDatabase, secondsAfter } from '@plinth/kit'
import { insertChallenge } from '../src/challenges.repository.ts'
import { identityMigrations } from '../src/migrations/index.ts'
import type { PasskeyTables } from '../src/tables.ts'
import { startWithAlice } from './start-identity.ts'
import { deriveVector, type Vector } from './w3c-vectors.ts'

// What the standard publishes and nobody can derive again: certificates and their signatures.
const CERTIFIED = {
  RS256: {
    sig: '30450221008b8c5c6ea8c142c032e0be69e1353d44461c5c9109941cdda951b976eb95b6b302204d52f406c19e254b3ff9589bd18070fb055ac8db12fdd0a6734bea9d7168e900',
    x5c: '30820222308201c7a00302010202101f6fb7a5ece81b45896b983a995da5f3300a06082a8648ce3d0403023062311e301c06035504030c15576562417574686e207465737420766563746f7273310c300a060355040a0c0357334331253023060355040b0c1c41757468656e74696361746f72204174746573746174696f6e204341310b30090603550406130241413020170d3234303130313030303030305a180f33303234303130313030303030305a305f311e301c06035504030c15576562417574686e207465737420766563746f7273310c300a060355040a0c0357334331223020060355040b0c1941757468656e74696361746f72204174746573746174696f6e310b30090603550406130241413059301306072a8648ce3d020106082a8648ce3d03010703420004b7b36b7542a11120b443c794d0c99fdc25a06b76586413d81e086163ef6fe147a557afc34e2861d9057d6d465d4705a0310550bdeeb5f35ee35b9425ab859981a360305e300c0603551d130101ff04023000300e0603551d0f0101ff040403020780301d0603551d0e04160414fb37b647bccfb9e54d989eaaacc1633868703fb3301f0603551d2304183016801445aff715b0dd786741fee996ebc16547a3931b1e300a06082a8648ce3d0403020349003046022100b86bc129d92afca7d9869a39f70f139a305b4073a39eb654d81424bed5757d91022100cf9f7c60cab7c4a7d3e7f0020f281a93d4fd0a9f95121b989f56932a68885fba',
  },
  EdDSA: {
    sig: '3046022100d83f60bd80269537583218858aefb03ac57d45fa06e42feaae332d187f62da9f022100a02bd3cb6f7e1d283c93bad1f3f4b5a4c0494463da7fdbf256949116754d1f17',
    x5c: '30820223308201c8a003020102021100b2cfc9ea33c8643b0e1a760463eaf164300a06082a8648ce3d0403023062311e301c06035504030c15576562417574686e207465737420766563746f7273310c300a060355040a0c0357334331253023060355040b0c1c41757468656e74696361746f72204174746573746174696f6e204341310b30090603550406130241413020170d3234303130313030303030305a180f33303234303130313030303030305a305f311e301c06035504030c15576562417574686e207465737420766563746f7273310c300a060355040a0c0357334331223020060355040b0c1941757468656e74696361746f72204174746573746174696f6e310b30090603550406130241413059301306072a8648ce3d020106082a8648ce3d03010703420004dd2b7a564b73b8c0b81c4c62e521925c4d1198ec9f583dbf1eebe364b65cd9c29a9bdf346aaa81fb6b9507e5249a52fdaf8e39e26b0b7dc45992a7e233b70f70a360305e300c0603551d130101ff04023000300e0603551d0f0101ff040403020780301d0603551d0e041604140ae27546bc7eccb1b4b597bd354f0c0b1f1f8f8e301f0603551d2304183016801445aff715b0dd786741fee996ebc16547a3931b1e300a06082a8648ce3d0403020349003046022100a0d434ecb5fc3bfd7da5f41904517ad2836249f561bd834ba7a438a8ab7a4ce8022100fac845bb7a02513b58e9f319654dbe49b0f02b95835bac568c71f8a18cdde9ab',
  },
}

// ECDSA signatures are random here and derived there, so the published ones are used as they are.
const PUBLISHED_SIGNATURES = {
  noneEs256:
    '3046022100f50a4e2e4409249c4a853ba361282f09841df4dd4547a13a87780218deffcd380221008480ac0f0b93538174f575bf11a1dd5d78c6e486013f937295ea13653e331e87',
  selfAttestation:
    '30440220067a20754ab925005dbf378097c92120031581c73228d1fb4f5b881bcd7da98302207fc7b147558c7c0eba3af18bd9d121fa3d3a26d17fe3f220272178f473b6006d',
  eddsa:
    'f5c59c7e46c34f6f8cc197101ddf9934fa2595f68eb1913a637e8419eb9ba4cfdfc48f85393bc0d40b011f0d6fecb097d6607525713223a0dc0d453993dae00b',
}

/** The service as the relying party of the standard, with its challenges put in place. */
async function startAsExample(t: TestContext) {
  const started = await startWithAlice(t, {
    env: {
      IDENTITY_PASSKEY_RP_ID: 'example.org',
      IDENTITY_PASSKEY_ORIGINS: 'https://example.org',
    },
  })
  const { api, clock, config, token } = started
  const { db, close } = await openDatabase<PasskeyTables>(config.databaseUrl, identityMigrations)
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
  return { ...started, headers, issue, userHandle: options.user.id as string }
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

const own = ({ sign, authentication }: Vector) =>
  sign(authentication.authData, authentication.clientData)
const none = (vector: Vector) => vector.attestationObject('none', new Map())
const hex = (text: string) => Buffer.from(text, 'hex')

function packed(vector: Vector, { sig, x5c }: { sig: string; x5c?: string }): Buffer {
  const statement = new Map<string, unknown>([
    ['alg', -7],
    ['sig', hex(sig)],
  ])
  if (x5c) statement.set('x5c', [hex(x5c)])
  return vector.attestationObject('packed', statement)
}

describe('the test vectors of Web Authentication Level 3, section 16', () => {
  test('are derived as the standard publishes them', () => {
    const vector = deriveVector('none.ES256', { algorithm: 'ES256' })

    const digest = createHash('sha256').update(none(vector)).digest('hex')

    assert.equal(digest, 'c0aa49c57f59765c9f47e6000c04dfe66547a3bd2a6e003a82e336a6e569cb7f')
  })

  test('16.2: ES256 with no attestation', async (t) => {
    const example = await startAsExample(t)
    const vector = deriveVector('none.ES256', { algorithm: 'ES256' })

    assert.equal(await register(example, vector, none(vector)), 200)
    assert.equal(await logIn(example, vector, hex(PUBLISHED_SIGNATURES.noneEs256)), 200)
  })

  test('16.3: ES256 with self attestation', async (t) => {
    const example = await startAsExample(t)
    const vector = deriveVector('packed-self.ES256', { algorithm: 'ES256' })
    const attestation = packed(vector, { sig: PUBLISHED_SIGNATURES.selfAttestation })

    assert.equal(await register(example, vector, attestation), 200)
    assert.equal(await logIn(example, vector, own(vector)), 200)
  })

  test('16.4: "crossOrigin": true is refused in both ceremonies', async (t) => {
    const example = await startAsExample(t)
    const options = { algorithm: 'ES256', crossOrigin: true } as const
    const vector = deriveVector('none.ES256.crossOrigin', options)

    assert.equal(await register(example, vector, none(vector)), 400)
    assert.equal(await logIn(example, vector, own(vector)), 401)
  })

  test('16.5: "topOrigin" is refused in both ceremonies', async (t) => {
    const example = await startAsExample(t)
    const options = { algorithm: 'ES256', crossOrigin: true, topOrigin: true } as const
    const vector = deriveVector('none.ES256.topOrigin', options)

    assert.equal(await register(example, vector, none(vector)), 400)
    assert.equal(await logIn(example, vector, own(vector)), 401)
  })

  test('16.6: a credential id of 1023 bytes', async (t) => {
    const example = await startAsExample(t)
    const options = { algorithm: 'ES256', credentialIdBytes: 1023 } as const
    const vector = deriveVector('none.ES256.long-credential-id', options)

    assert.equal(await register(example, vector, none(vector)), 200)
    assert.equal(await logIn(example, vector, own(vector)), 200)
  })

  test('16.10: RS256 with packed attestation', async (t) => {
    const example = await startAsExample(t)
    const vector = deriveVector('packed.RS256', { algorithm: 'RS256', certified: true })

    assert.equal(await register(example, vector, packed(vector, CERTIFIED.RS256)), 200)
    assert.equal(await logIn(example, vector, own(vector)), 200)
  })

  test('16.11: Ed25519 with packed attestation, signature as published', async (t) => {
    const example = await startAsExample(t)
    const vector = deriveVector('packed.EdDSA', { algorithm: 'EdDSA', certified: true })

    assert.equal(own(vector).toString('hex'), PUBLISHED_SIGNATURES.eddsa)
    assert.equal(await register(example, vector, packed(vector, CERTIFIED.EdDSA)), 200)
    assert.equal(await logIn(example, vector, own(vector)), 200)
  })
})
