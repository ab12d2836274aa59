import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { startPayments } from './start-payments.ts'

const PATH = '/api/payments/5b4f5a0e-6a53-4f62-93f6-0a1f6e0b7a11'

/** An issuer that is not the identity service, and a payment service that requires its tokens. */
async function startTrusting(t: TestContext, alg: string, more: Record<string, string> = {}) {
  const clock = testClock()
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg, use: 'sig' }
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ keys: [key] }))
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { PAYMENTS_REQUIRE_ISSUER: issuer, ...more }
  const { api } = await startPayments(t, { clock, env })
  return async ({ typ = 'at+jwt', aud = ['other', 'plinth'] }) => {
    const token = await new SignJWT({ username: 'remote', roles: ['ROLE_ADMIN'], sid: '1' })
      .setProtectedHeader({ alg, typ, kid: 'one' })
      .setIssuer(issuer)
      .setAudience(aud)
      .setSubject('2')
      .setIssuedAt(clock())
      .setExpirationTime(new Date(clock().getTime() + 900_000))
      .sign(privateKey)
    return (await api.get(PATH, { token })).status
  }
}

for (const alg of ['RS256', 'ES256', 'EdDSA'])
  test(`the issuer may sign with ${alg}, for a list of audiences`, async (t) => {
    const statusFor = await startTrusting(t, alg)

    assert.equal(await statusFor({}), 404)
    assert.equal(await statusFor({ typ: 'application/at+jwt' }), 404)
    assert.equal(await statusFor({ aud: ['other'] }), 401)
    assert.equal(await statusFor({ typ: 'JWT' }), 401)
  })

test('with PAYMENTS_REQUIRE_ISSUER_PLAIN_JWT its tokens may have the type JWT', async (t) => {
  const statusFor = await startTrusting(t, 'RS256', { PAYMENTS_REQUIRE_ISSUER_PLAIN_JWT: 'true' })

  assert.equal(await statusFor({ typ: 'JWT' }), 404)
})
