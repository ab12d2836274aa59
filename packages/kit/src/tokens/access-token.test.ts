import assert from 'node:assert/strict'
import { createHmac, type KeyObject, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { decodeJwt, jwtVerify } from 'jose'
import {
  createAccessTokenSigner,
  createAccessTokenVerifier,
  createGrantedTokenVerifier,
  type TokenSubject,
} from './access-token.ts'
import { newSigningKey } from './signing-keys.ts'

const START = Date.parse('2030-01-01T00:00:00.000Z')
const ALICE: TokenSubject = {
  userId: '7',
  username: 'alice',
  roles: ['ROLE_USER'],
  sessionId: '41',
}

/** A signer and a verifier that share one key, and a clock that can be advanced. */
function issuer() {
  let now = START
  const clock = () => new Date(now)
  const key = newSigningKey(1, clock())
  const known = new Map<string, KeyObject>([[key.kid, key.publicKey]])
  const lookups: string[] = []
  const keys = {
    current: async () => key,
    find: async (kid: string) => {
      lookups.push(kid)
      return known.get(kid)
    },
  }
  const rules = { issuer: 'http://issuer', audience: 'suite', clock, lifetimeSeconds: 900 }
  const { sign: signFor } = createAccessTokenSigner(rules, keys)
  const { verify } = createAccessTokenVerifier(rules, keys)
  const advance = (seconds: number) => {
    now += seconds * 1000
  }
  return { key, known, lookups, rules, clock, signFor, verify, advance }
}

function segment(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Signs any header and any claims with the issuer's own key, as a careless signer would. */
function forge(privateKey: KeyObject, header: unknown, claims: unknown): string {
  const signedPart = `${segment(header)}.${segment(claims)}`
  const options = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${signedPart}.${sign('sha256', Buffer.from(signedPart), options).toString('base64url')}`
}

describe('an access token', () => {
  test('verifies as the user that it was signed for', async () => {
    const { signFor, verify } = issuer()

    assert.deepEqual(await verify(await signFor(ALICE)), ALICE)
  })

  test('is accepted by an independent implementation, with every claim of the contract', async () => {
    const { signFor, key, clock } = issuer()
    const token = await signFor(ALICE)

    const { payload, protectedHeader } = await jwtVerify(token, key.publicKey, {
      algorithms: ['ES256'],
      issuer: 'http://issuer',
      audience: 'suite',
      typ: 'at+jwt',
      currentDate: clock(),
    })

    assert.deepEqual(protectedHeader, { alg: 'ES256', typ: 'at+jwt', kid: key.kid })
    const { jti, ...claims } = payload
    assert.match(String(jti), /^[0-9a-f-]{36}$/)
    assert.deepEqual(claims, {
      iss: 'http://issuer',
      aud: 'suite',
      iat: START / 1000,
      exp: START / 1000 + 900,
      sub: '7',
      username: 'alice',
      roles: ['ROLE_USER'],
      sid: '41',
      client_id: 'suite',
    })
  })

  test('differs from another token issued in the same second', async () => {
    const { signFor } = issuer()

    assert.notEqual(await signFor(ALICE), await signFor(ALICE))
  })

  test('expires after exactly 900 seconds, even if it was verified before', async () => {
    const { signFor, verify, advance } = issuer()
    const token = await signFor(ALICE)

    advance(899.999)
    assert.deepEqual(await verify(token), ALICE)
    advance(0.001)
    assert.equal(await verify(token), undefined)
  })

  test('is invalid without its key, even if it was verified before', async () => {
    const { signFor, verify, known } = issuer()
    const token = await signFor(ALICE)
    await verify(token)

    known.clear()

    assert.equal(await verify(token), undefined)
  })
})

describe('an access token for a client', () => {
  const OTHERS = { clientId: 'calendar', audience: 'https://calendar.example' }

  for (const [scopes, shown] of [
    [['openid'], {}],
    [['profile'], { username: 'alice' }],
    [['roles'], { roles: ['ROLE_USER'] }],
  ] as const)
    test(`for others, with the scope ${scopes}, shows ${Object.keys(shown).join() || 'neither name nor roles'}`, async () => {
      const { signFor, key, clock } = issuer()
      const token = await signFor({ ...ALICE, grant: { ...OTHERS, scopes: [...scopes] } })

      const { payload } = await jwtVerify(token, key.publicKey, { currentDate: clock() })

      const { username, roles } = payload
      assert.deepEqual({ ...(username ? { username } : {}), ...(roles ? { roles } : {}) }, shown)
    })

  test('is verified for any audience only if it says who, in which session, for which client and scopes', async () => {
    const { key, rules, signFor } = issuer()
    const { verify } = createGrantedTokenVerifier(rules, { find: async () => key.publicKey })
    const header = { alg: 'ES256', typ: 'at+jwt', kid: key.kid }
    const grant = { ...OTHERS, scopes: ['openid', 'profile'] }
    const claims = decodeJwt(await signFor({ ...ALICE, grant }))
    const verifiedWith = (changes: object) =>
      verify(forge(key.privateKey, header, { ...claims, ...changes }))

    const found = await verifiedWith({})

    assert.deepEqual(
      [found?.userId, found?.sessionId, found?.clientId, found?.scopes, found?.audiences],
      ['7', '41', 'calendar', ['openid', 'profile'], [OTHERS.audience]],
    )
    for (const missing of ['sub', 'sid', 'client_id', 'aud'])
      assert.equal(await verifiedWith({ [missing]: undefined }), undefined, missing)
    assert.equal(await verifiedWith({ scope: ['openid'] }), undefined)
    assert.deepEqual((await verifiedWith({ scope: undefined }))?.scopes, [])
  })
})

describe('a hostile token is refused:', () => {
  const { key, rules, clock, signFor, verify, lookups } = issuer()
  const header = { alg: 'ES256', typ: 'at+jwt', kid: key.kid }
  const nowSeconds = START / 1000
  const claims = {
    iss: 'http://issuer',
    aud: 'suite',
    iat: nowSeconds,
    exp: nowSeconds + 900,
    sub: '7',
    username: 'alice',
    roles: ['ROLE_USER'],
    sid: '41',
    jti: 'x',
  }
  const withHeader = (changes: object) => forge(key.privateKey, { ...header, ...changes }, claims)
  const withClaims = (changes: object) => forge(key.privateKey, header, { ...claims, ...changes })
  const stranger = newSigningKey(1, clock())
  const pem = key.publicKey.export({ type: 'spki', format: 'pem' })
  const hmac = (signedPart: string, secret: string | Buffer) =>
    `${signedPart}.${createHmac('sha256', secret).update(signedPart).digest('base64url')}`
  const hs256 = `${segment({ alg: 'HS256', typ: 'at+jwt', kid: key.kid })}.${segment(claims)}`
  const good = forge(key.privateKey, header, claims)
  const [head = '', body = '', signature = ''] = good.split('.')
  const spaced = Buffer.from(JSON.stringify(header, null, 1)).toString('base64url')

  test('(the unaltered token is accepted)', async () => {
    assert.deepEqual(await verify(good), ALICE)
  })

  const hostile: Record<string, string> = {
    'the empty string': '',
    'two segments': `${head}.${body}`,
    'four segments': `${good}.${signature}`,
    'a trailing dot': `${good}.`,
    'a leading space': ` ${good}`,
    'a trailing newline': `${good}\n`,
    'algorithm none': `${segment({ alg: 'none', typ: 'at+jwt', kid: key.kid })}.${body}.`,
    'algorithm none with a signature': withHeader({ alg: 'none' }),
    'HS256 with the public key (PEM) as the secret': hmac(hs256, pem),
    'HS256 with the public key (DER) as the secret': hmac(
      hs256,
      key.publicKey.export({ type: 'spki', format: 'der' }),
    ),
    'ES384 in the header': withHeader({ alg: 'ES384' }),
    'no algorithm': withHeader({ alg: undefined }),
    'type JWT': withHeader({ typ: 'JWT' }),
    'no type': withHeader({ typ: undefined }),
    'an embedded key': withHeader({ jwk: key.publicKey.export({ format: 'jwk' }) }),
    'a key URL': withHeader({ jku: 'http://evil/jwks.json' }),
    'a certificate URL': withHeader({ x5u: 'http://evil/cert' }),
    'a critical extension': withHeader({ crit: ['b64'], b64: false }),
    'no key id': withHeader({ kid: undefined }),
    'an unknown key id': withHeader({ kid: stranger.kid }),
    'a path as key id': withHeader({ kid: '../../dev/null' }),
    'SQL as key id': withHeader({ kid: "' OR 1=1 --" }),
    'a huge key id': withHeader({ kid: 'a'.repeat(1_000_000) }),
    'a header with spaces': good.replace(head, spaced),
    'a header that is an array': `${segment([])}.${body}.${signature}`,
    'a header that is not JSON': `AAAA.${body}.${signature}`,
    'another key under our key id': forge(stranger.privateKey, header, claims),
    'altered claims': `${head}.${segment({ ...claims, sub: '1' })}.${signature}`,
    'claims that are not an object': forge(key.privateKey, header, [claims]),
    padding: `${head}.${body}.${signature}==`,
    'characters of plain base64': `${head}.${body}.${signature.slice(0, -2)}+/`,
    'spaces in the signature': `${head}.${body}. ${signature.slice(1)}`,
    'a signature of zeros': `${head}.${body}.${'A'.repeat(86)}`,
    'a short signature': `${head}.${body}.${signature.slice(0, 84)}`,
    'a DER signature': `${head}.${body}.${sign('sha256', Buffer.from(`${head}.${body}`), key.privateKey).toString('base64url')}`,
    'a signature whose unused bits are set': `${head}.${body}.${uncanonical(signature)}`,
    'another issuer': withClaims({ iss: 'http://other' }),
    'a list of issuers': withClaims({ iss: ['http://issuer'] }),
    'another audience': withClaims({ aud: 'other' }),
    'a list of other audiences': withClaims({ aud: ['other', 'another'] }),
    'a list of audiences that are not strings': withClaims({ aud: ['suite', 7] }),
    'no audience': withClaims({ aud: undefined }),
    'an expiry in the past': withClaims({ exp: nowSeconds - 1 }),
    'an expiry of this very second': withClaims({ exp: nowSeconds }),
    'no expiry': withClaims({ exp: undefined }),
    'an expiry as a string': withClaims({ exp: String(nowSeconds + 900) }),
    'a fractional expiry': withClaims({ exp: nowSeconds + 0.5 }),
    'an infinite expiry': forge(key.privateKey, header, claims).replace(
      body,
      Buffer.from(JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e400')).toString('base64url'),
    ),
    'issued far in the future': withClaims({ iat: nowSeconds + 3600 }),
    'no time of issue': withClaims({ iat: undefined }),
    'not yet valid': withClaims({ nbf: nowSeconds + 10 }),
    'no subject': withClaims({ sub: undefined }),
    'a numeric subject': withClaims({ sub: 7 }),
    'an empty subject': withClaims({ sub: '' }),
    'no session': withClaims({ sid: undefined }),
    'roles in one string': withClaims({ roles: 'ROLE_ADMIN' }),
    'roles that are not strings': withClaims({ roles: [1] }),
  }
  for (const [name, token] of Object.entries(hostile)) {
    test(name, async () => {
      assert.equal(await verify(token), undefined)
    })
  }

  test('and no key is looked up for a token that cannot be accepted anyway', async () => {
    lookups.length = 0

    await verify(withClaims({ iss: 'http://other' }))
    await verify(withHeader({ kid: '../../dev/null' }))

    assert.deepEqual(lookups, [])
  })

  test('an independent implementation accepts whatever is accepted here, even with one character changed', async () => {
    const token = await signFor(ALICE)
    for (let at = 0; at < token.length; at += 1) {
      const altered = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
      if (!(await verify(altered))) continue
      await jwtVerify(altered, key.publicKey, { issuer: rules.issuer, currentDate: clock() })
    }
  })
})

/** Sets one of the four unused bits in the last character of a 64-byte value. */
function uncanonical(signature: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(signature.at(-1) ?? '')
  return `${signature.slice(0, -1)}${alphabet[last | 1]}`
}
