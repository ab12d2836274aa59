import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
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
  test('are accepted through its published keys, as an independent implementation does', async (t) => {
    const { issuer, url, signWith, verify, clock } = await startIssuer(t)
    const token = await signWith(issuer.keys[0])

    assert.deepEqual(await verify(token), ALICE)
    await jwtVerify(token, createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`)), {
      currentDate: clock(),
    })
  })

  test('cost one request for many tokens', async (t) => {
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

  test('with made-up key ids do not make us ask more than once per cooldown', async (t) => {
    const { issuer, signWith, verify, clock } = await startIssuer(t)
    await verify(await signWith(issuer.keys[0]))

    for (let n = 0; n < 5; n += 1) await verify(await signWith(newSigningKey(9, clock())))

    assert.equal(issuer.asked, 2)
  })

  test('are refused without asking when they name someone else as their issuer', async (t) => {
    const { issuer, signWith, clock } = await startIssuer(t)
    const { verify } = createRemoteIssuer({ issuer: 'http://else', audience: 'suite', clock })

    assert.equal(await verify(await signWith(issuer.keys[0])), undefined)
    assert.equal(issuer.asked, 0)
  })

  test('stop with their key when the issuer withdraws it', async (t) => {
    const { issuer, signWith, verify, clock } = await startIssuer(t)
    const token = await signWith(issuer.keys[0])
    await verify(token)

    issuer.keys = []
    clock.advance(600)

    assert.equal(await verify(token), undefined)
  })

  test('stay good while the issuer is down, once its keys are known', async (t) => {
    const { issuer, signWith, verify, clock } = await startIssuer(t)
    const token = await signWith(issuer.keys[0])
    await verify(token)

    issuer.status = 500
    clock.advance(700)

    assert.deepEqual(await verify(token), ALICE)
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
