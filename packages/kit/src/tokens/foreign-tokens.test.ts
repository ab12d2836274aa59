import assert from 'node:assert/strict'
import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { base64url, type JWTHeaderParameters, SignJWT } from 'jose'
import { testClock } from '../../testing/clock.ts'
import { createRemoteIssuer } from './remote-issuer.ts'

const ALICE = { userId: '7', username: 'alice', roles: ['ROLE_USER'], sessionId: '41' }

type Key = { kid: string; privateKey: KeyObject; jwk: Record<string, unknown> }

function newKey(kid: string, pair: { publicKey: KeyObject; privateKey: KeyObject }): Key {
  const { publicKey, privateKey } = pair
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } }
}

const rsaKey = (kid: string, modulusLength = 2048) =>
  newKey(kid, generateKeyPairSync('rsa', { modulusLength }))
const ecKey = (kid: string) => newKey(kid, generateKeyPairSync('ec', { namedCurve: 'P-256' }))
const edKey = (kid: string) => newKey(kid, generateKeyPairSync('ed25519'))

const MAKERS: [alg: string, make: (kid: string) => Key][] = [
  ['RS256', rsaKey],
  ['ES256', ecKey],
  ['EdDSA', edKey],
]

const KEYS = Object.fromEntries(MAKERS.map(([alg, make]) => [alg, make(alg)]))
const keyFor = (alg: string) => KEYS[alg] as Key

/** An issuer other than ours, which publishes these keys, and a service that trusts it. */
async function startIssuer(
  t: TestContext,
  { keys = Object.values(KEYS).map(({ jwk }) => jwk), plainJwt = false } = {},
) {
  const clock = testClock()
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ keys }))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((listening) => server.once('listening', listening))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const now = Math.floor(clock().getTime() / 1000)
  const claims = {
    iss: issuer,
    aud: 'suite' as unknown,
    iat: now,
    exp: now + 900,
    sub: '7',
    client_id: 'some-client',
    username: 'alice',
    roles: ['ROLE_USER'],
    sid: '41',
  }
  type Changes = { header?: object; claims?: object; key?: Key }
  const sign = (
    alg: string,
    { header = {}, claims: changed = {}, key = keyFor(alg) }: Changes = {},
  ) =>
    new SignJWT({ ...claims, ...changed } as Record<string, unknown>)
      .setProtectedHeader({ alg, typ: 'at+jwt', kid: key.kid, ...header } as JWTHeaderParameters)
      .sign(key.privateKey)
  const { verify } = createRemoteIssuer({ issuer, audience: 'suite', clock, plainJwt })
  return { sign, verify, claims }
}

for (const [alg, make] of MAKERS)
  describe(`a token of another issuer, signed with ${alg},`, () => {
    test('is accepted', async (t) => {
      const { sign, verify } = await startIssuer(t)
      const token = await sign(alg)

      assert.deepEqual(await verify(token), ALICE)
      assert.deepEqual(await verify(token), ALICE, 'cached')
    })

    test('may be for several audiences, if we are one of them', async (t) => {
      const { sign, verify } = await startIssuer(t)
      const withAudience = async (aud: unknown) => verify(await sign(alg, { claims: { aud } }))

      assert.deepEqual(await withAudience(['other', 'suite']), ALICE)
      assert.deepEqual(await withAudience(['suite']), ALICE)
      for (const aud of [['other'], [], ['suite', 7], [['suite']], { suite: true }, 'suite other'])
        assert.equal(await withAudience(aud), undefined, JSON.stringify(aud))
    })

    test('must have the type of an access token', async (t) => {
      const { sign, verify } = await startIssuer(t)
      const withType = async (typ: unknown) => verify(await sign(alg, { header: { typ } }))

      for (const typ of ['at+jwt', 'application/at+jwt', 'at+JWT'])
        assert.deepEqual(await withType(typ), ALICE, typ)
      for (const typ of ['JWT', 'id+jwt', 'logout+jwt', 'text/at+jwt', '', undefined, ['at+jwt']])
        assert.equal(await withType(typ), undefined, String(typ))
    })

    test('may have the type JWT if that is configured', async (t) => {
      const { sign, verify } = await startIssuer(t, { plainJwt: true })
      const withType = async (typ: unknown) => verify(await sign(alg, { header: { typ } }))

      for (const typ of ['JWT', 'at+jwt']) assert.deepEqual(await withType(typ), ALICE, typ)
      for (const typ of ['id+jwt', undefined])
        assert.equal(await withType(typ), undefined, `${typ}`)
    })

    test('without a key id is accepted if exactly one key fits its algorithm', async (t) => {
      const { sign, verify } = await startIssuer(t)
      const second = make('second')
      const keys = [...Object.values(KEYS), second].map(({ jwk }) => jwk)
      const ambiguous = await startIssuer(t, { keys })
      const unnamed = { header: { kid: undefined } }

      assert.deepEqual(await verify(await sign(alg, unnamed)), ALICE)
      for (const key of [keyFor(alg), second]) {
        assert.equal(
          await ambiguous.verify(await ambiguous.sign(alg, { ...unnamed, key })),
          undefined,
        )
        assert.deepEqual(await ambiguous.verify(await ambiguous.sign(alg, { key })), ALICE)
      }
    })

    test('is refused when its key id belongs to a different key', async (t) => {
      const { sign, verify } = await startIssuer(t)

      assert.equal(await verify(await sign(alg, { key: make(alg) })), undefined)
    })

    test('is refused when its key is for another algorithm or for encryption', async (t) => {
      for (const wrong of [{ alg: 'PS256' }, { use: 'enc' }, { key_ops: ['sign'] }]) {
        const { jwk } = keyFor(alg)
        const { sign, verify } = await startIssuer(t, { keys: [{ ...jwk, ...wrong }] })

        assert.equal(await verify(await sign(alg)), undefined, JSON.stringify(wrong))
      }
    })
  })

describe('never accepted from another issuer:', () => {
  const encode = (value: unknown) => base64url.encode(JSON.stringify(value))

  test('a token with algorithm none', async (t) => {
    const { verify, claims } = await startIssuer(t, { plainJwt: true })
    const { kid } = keyFor('ES256')

    for (const alg of ['none', 'None', '', undefined])
      for (const signature of ['', 'AAAA'])
        assert.equal(
          await verify(`${encode({ alg, typ: 'at+jwt', kid })}.${encode(claims)}.${signature}`),
          undefined,
        )
  })

  test('HS256 with a public key as the secret', async (t) => {
    const { verify, claims } = await startIssuer(t, { plainJwt: true })

    for (const { kid, privateKey, jwk } of Object.values(KEYS)) {
      const publicKey = createPublicKey(privateKey)
      const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
      const der = publicKey.export({ type: 'spki', format: 'der' })
      for (const secret of [Buffer.from(pem), der, Buffer.from(JSON.stringify(jwk))]) {
        const token = await new SignJWT(claims as Record<string, unknown>)
          .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid })
          .sign(secret)
        assert.equal(await verify(token), undefined)
      }
    }
  })

  test('HS256 with a secret that the issuer publishes', async (t) => {
    const secret = Buffer.alloc(32, 7)
    const k = base64url.encode(secret)
    const keys = [{ kty: 'oct', kid: 'shared', alg: 'HS256', k }]
    const { verify, claims } = await startIssuer(t, { keys })

    const token = await new SignJWT(claims as Record<string, unknown>)
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'shared' })
      .sign(secret)

    assert.equal(await verify(token), undefined)
  })

  test('another algorithm with a good key', async (t) => {
    const { sign, verify } = await startIssuer(t)

    for (const alg of ['RS384', 'RS512', 'PS256'])
      assert.equal(await verify(await sign(alg, { key: keyFor('RS256') })), undefined, alg)
  })

  test('a short RSA key', async (t) => {
    const short = rsaKey('short', 1024)
    const { verify, claims } = await startIssuer(t, { keys: [short.jwk] })
    const head = `${encode({ alg: 'RS256', typ: 'at+jwt', kid: 'short' })}.${encode(claims)}`
    const signature = signBytes('sha256', Buffer.from(head), short.privateKey)

    assert.equal(await verify(`${head}.${signature.toString('base64url')}`), undefined)
  })

  test('a header with an embedded key or a critical extension', async (t) => {
    const { sign, verify } = await startIssuer(t)
    const mine = ecKey('mine')

    for (const header of [{ jwk: mine.jwk }, { jwk: mine.jwk, kid: undefined }, { kid: 'ES256' }])
      assert.equal(await verify(await sign('ES256', { key: mine, header })), undefined)
    const good = await sign('ES256')
    const [, body = '', signature = ''] = good.split('.')
    for (const header of [{ crit: ['exp'] }, { crit: ['b64'], b64: false }, { crit: [] }])
      assert.equal(
        await verify(
          `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'ES256', ...header })}.${body}.${signature}`,
        ),
        undefined,
      )
  })

  test('a key id that is not a string, or is far too long', async (t) => {
    const { sign, verify } = await startIssuer(t)

    for (const kid of [7, ['ES256'], null, 'x'.repeat(257)])
      assert.equal(await verify(await sign('ES256', { header: { kid } })), undefined)
  })
})
