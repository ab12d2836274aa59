import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { testClock } from '../../testing/clock.ts'
import { createAccessTokenSigner } from './access-token.ts'
import { createRemoteIssuer } from './remote-issuer.ts'
import { newSigningKey, publicJwk, type SigningKey } from './signing-keys.ts'

const ALICE = { userId: '7', username: 'alice', roles: ['ROLE_USER'], sessionId: '41' }

/** An issuer whose replies the test decides, and a service that trusts it. */
async function startIssuer(t: TestContext) {
  const clock = testClock()
  const issuer = {
    keys: [newSigningKey(1, clock())] as SigningKey[],
    answer: () => JSON.stringify({ keys: issuer.keys.map(publicJwk) }),
    status: 200,
    asked: 0,
  }
  const server = createServer((_request, response) => {
    issuer.asked += 1
    response.writeHead(issuer.status).end(issuer.answer())
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((listening) => server.once('listening', listening))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const rules = { issuer: url, audience: 'suite', clock, lifetimeSeconds: 900 }
  const signWith = (key: SigningKey | undefined) =>
    createAccessTokenSigner(rules, { current: async () => key as SigningKey }).sign(ALICE)
  const { verify } = createRemoteIssuer(rules)
  return { issuer, clock, url, signWith, verify }
}

describe('tokens of another issuer', () => {
  test('are accepted with its published keys, as they are by an independent implementation', async (t) => {
    const { issuer, url, signWith, verify, clock } = await startIssuer(t)
    const token = await signWith(issuer.keys[0])

    assert.deepEqual(await verify(token), ALICE)
    await jwtVerify(token, createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`)), {
      currentDate: clock(),
    })
  })

  test('need one request to the issuer for many tokens', async (t) => {
    const { issuer, signWith, verify } = await startIssuer(t)
    const tokens = await Promise.all(Array.from({ length: 20 }, () => signWith(issuer.keys[0])))

    await Promise.all(tokens.map(verify))

    assert.equal(issuer.asked, 1)
  })

  test('signed with a new key are accepted at once', async (t) => {
    const { issuer, signWith, verify, clock } = await startIssuer(t)
    await verify(await signWith(issuer.keys[0]))
    issuer.keys.push(newSigningKey(2, clock()))

    assert.deepEqual(await verify(await signWith(issuer.keys[1])), ALICE)
  })

  test('with made-up key ids cause at most one request per cooldown', async (t) => {
    const { issuer, signWith, verify, clock } = await startIssuer(t)
    await verify(await signWith(issuer.keys[0]))

    for (let n = 0; n < 5; n += 1) await verify(await signWith(newSigningKey(9, clock())))

    assert.equal(issuer.asked, 2)
  })

  test('are refused without a request when they name another issuer', async (t) => {
    const { issuer, signWith, clock } = await startIssuer(t)
    const { verify } = createRemoteIssuer({ issuer: 'http://else', audience: 'suite', clock })

    assert.equal(await verify(await signWith(issuer.keys[0])), undefined)
    assert.equal(issuer.asked, 0)
  })

  test('are refused once the issuer withdraws their key', async (t) => {
    const { issuer, signWith, verify, clock } = await startIssuer(t)
    const token = await signWith(issuer.keys[0])
    await verify(token)

    issuer.keys = []
    clock.advance(600)

    assert.equal(await verify(token), undefined)
  })

  test('are checked with the keys of today when the clock is set back', async (t) => {
    const { issuer, signWith, verify, clock } = await startIssuer(t)
    const [old, successor] = [issuer.keys[0], newSigningKey(2, clock())]
    await verify(await signWith(old))
    await verify(await signWith(successor))

    issuer.keys = [successor]
    clock.advance(-3_600)

    assert.equal(await verify(await signWith(old)), undefined)
    assert.deepEqual(await verify(await signWith(successor)), ALICE)
  })

  test('stay valid while the issuer is down, once its keys are known', async (t) => {
    const { issuer, signWith, verify, clock } = await startIssuer(t)
    const token = await signWith(issuer.keys[0])
    await verify(token)

    issuer.status = 500
    clock.advance(700)

    assert.deepEqual(await verify(token), ALICE)
  })

  test('may omit the key id if only one key fits, and may be signed with 2048-bit RSA', async (t) => {
    const { issuer, url, verify, clock } = await startIssuer(t)
    const pair = await generateKeyPair('RS256', { modulusLength: 2048, extractable: true })
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'rsa', alg: 'RS256', use: 'sig' }
    issuer.answer = () => JSON.stringify({ keys: [jwk] })
    const sign = (header: object) =>
      new SignJWT({ username: 'alice', roles: [], sid: '41' })
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', ...header })
        .setIssuer(url)
        .setAudience('suite')
        .setSubject('7')
        .setIssuedAt(clock())
        .setExpirationTime(new Date(clock().getTime() + 900_000))
        .sign(pair.privateKey, { crit: { extra: true } })

    assert.equal((await verify(await sign({})))?.userId, '7')
    assert.equal((await verify(await sign({ kid: 'rsa' })))?.userId, '7')
    assert.equal(await verify(await sign({ crit: ['extra'], extra: 1 })), undefined)
    const longest = 'x'.repeat(256)
    issuer.answer = () => JSON.stringify({ keys: [{ ...jwk, kid: longest }] })
    clock.advance(11)
    assert.equal((await verify(await sign({ kid: longest })))?.userId, '7')
    assert.equal(await verify(await sign({ kid: `${longest}x` })), undefined)
  })

  test('are checked against a key set of at most 64 KiB', async (t) => {
    const { issuer, signWith, verify } = await startIssuer(t)
    const token = await signWith(issuer.keys[0])
    const answerOf = (bytes: number) => {
      const keys = issuer.keys.map(publicJwk)
      const { length } = JSON.stringify({ keys, padding: '' })
      return JSON.stringify({ keys, padding: 'x'.repeat(bytes - length) })
    }

    issuer.answer = () => answerOf(65_537)
    await assert.rejects(async () => verify(token), { code: 'ISSUER_UNAVAILABLE' })
    issuer.answer = () => answerOf(65_536)

    assert.equal((await verify(token))?.userId, '7')
  })

  test('are answered 503 when the issuer was never reached or its key set is malformed', async (t) => {
    const { issuer, signWith, verify } = await startIssuer(t)
    const token = await signWith(issuer.keys[0])
    const malformed = ['', '[]', '{"keys":1}', '<html>', `{"keys":["${'x'.repeat(70_000)}"]}`]

    for (const answer of malformed) {
      issuer.answer = () => answer
      await assert.rejects(async () => verify(token), { code: 'ISSUER_UNAVAILABLE', status: 503 })
    }
    issuer.answer = () => JSON.stringify({ keys: issuer.keys.map(publicJwk) })
    assert.deepEqual(await verify(token), ALICE)
  })
})
