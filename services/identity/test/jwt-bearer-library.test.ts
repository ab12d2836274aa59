import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { startWithAlice } from './start-identity.ts'

type Result = { payload?: { sub?: string }; error?: { status?: number } }

// Loaded untyped: its types accept only Express requests.
const { auth } = createRequire(import.meta.url)('express-oauth2-jwt-bearer')

/** What Express adds to a request. */
const EXPRESS = {
  method: 'GET',
  url: '/',
  query: {},
  protocol: 'https',
  get: () => 'shop.example',
  is: () => false,
}

/** The issuer must know its public URL before it listens, so a proxy takes the port first. */
async function startIssuer(t: TestContext) {
  let target = ''
  const front = createServer(async ({ url }, response) => {
    const reply = await fetch(`${target}${url}`)
    response.writeHead(reply.status, Object.fromEntries(reply.headers))
    response.end(await reply.text())
  }).listen(0, '127.0.0.1')
  await once(front, 'listening')
  t.after(() => void front.close())
  const issuer = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  const clock = testClock(new Date().toISOString())
  const started = await startWithAlice(t, { clock, env: { IDENTITY_PUBLIC_URL: issuer } })
  target = started.baseUrl
  return { ...started, issuer }
}

test('express-oauth2-jwt-bearer accepts our tokens, given only issuer and audience', async (t) => {
  const { issuer, token, userId } = await startIssuer(t)
  const check = auth({ issuerBaseURL: issuer, audience: 'plinth' })
  const result = (authorization: string) =>
    new Promise<Result>((resolve) => {
      const headers = { authorization }
      const request = { ...EXPRESS, headers } as unknown as IncomingMessage & {
        auth?: { payload: { sub?: string } }
      }
      check(request, {}, (error?: { status?: number }) =>
        resolve(error ? { error } : { payload: request.auth?.payload }),
      )
    })

  const accepted = await result(`Bearer ${token}`)
  const refused = await result(`Bearer ${token.slice(0, -4)}AAAA`)

  assert.equal(accepted.error, undefined)
  assert.equal(accepted.payload?.sub, String(userId))
  assert.equal(refused.error?.status, 401)
})
