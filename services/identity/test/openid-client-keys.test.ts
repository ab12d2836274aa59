import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { formRequest, type Registered, registerClient } from './browser.ts'
import { adminToken, engines, startIdentity } from './start-identity.ts'

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const ACCEPTED = [400, 'invalid_grant']
const REFUSED = [401, 'invalid_client']
const SLOW = { tags: ['all'] }

type Started = Awaited<ReturnType<typeof startIdentity>>
type Key = Awaited<ReturnType<typeof newKey>>

async function newKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } }
}

/** A client that publishes its keys itself. */
async function servedKeys(t: TestContext, listener?: RequestListener) {
  const state = { keys: [] as object[], status: 200, location: '', times: 0 }
  const server = createServer((request, response) => {
    state.times += 1
    if (listener) return listener(request, response)
    const headers = state.location === '' ? {} : { location: state.location }
    response.writeHead(state.status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ keys: state.keys }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { state, jwksUri: `http://127.0.0.1:${port}/keys` }
}

let count = 0

async function authenticate({ api, config, clock }: Started, client: Registered, key: Key) {
  const { clientId } = client
  count += 1
  const exp = Math.floor(clock().getTime() / 1000) + 60
  const claims = { iss: clientId, sub: clientId, aud: config.accounts.issuer, exp }
  const assertion = await new SignJWT({ ...claims, jti: `${count}` })
    .setProtectedHeader({ alg: 'ES256', kid: key.kid })
    .sign(key.privateKey)
  const { status, body } = await formRequest(api, '/oauth2/token', {
    ...{ grant_type: 'refresh_token', refresh_token: 'x' },
    client_assertion: assertion,
    client_assertion_type: TYPE,
  })
  return [status, body.error]
}

for (const engine of engines)
  describe(`keys at the jwksUri of a client on ${engine.name}`, engine.options, () => {
    async function start(t: TestContext, listener?: RequestListener) {
      const started = await startIdentity(t, { engine })
      const served = await servedKeys(t, listener)
      const { jwksUri } = served
      const client = await registerClient(started.api, { authMethod: 'private_key_jwt', jwksUri })
      return { started, ...served, client }
    }

    test('authenticate it, and are fetched once a minute', async (t) => {
      const { started, state, client } = await start(t)
      const key = await newKey('one')
      state.keys = [key.jwk]

      assert.deepEqual(await authenticate(started, client, key), ACCEPTED)
      assert.deepEqual(await authenticate(started, client, key), ACCEPTED)
      assert.equal(state.times, 1)
      started.clock.advance(61)
      assert.deepEqual(await authenticate(started, client, key), ACCEPTED)
      assert.equal(state.times, 2)
    })

    test('may be replaced: a new one works at once, and the old one ends within a minute', async (t) => {
      const { started, state, client } = await start(t)
      const [old, next] = [await newKey('old'), await newKey('next')]
      state.keys = [old.jwk]
      await authenticate(started, client, old)
      state.keys = [next.jwk]
      started.clock.advance(11)

      assert.deepEqual(await authenticate(started, client, next), ACCEPTED)
      assert.deepEqual(await authenticate(started, client, old), REFUSED)
    })

    test('are not fetched for every forged assertion', async (t) => {
      const { started, state, client } = await start(t)
      const [own, foreign] = [await newKey('own'), await newKey('foreign')]
      state.keys = [own.jwk]
      await authenticate(started, client, own)

      for (let tries = 0; tries < 5; tries += 1)
        assert.deepEqual(await authenticate(started, client, foreign), REFUSED)

      assert.equal(state.times, 1)
    })

    test('that cannot be fetched refuse the client, for a moment only', async (t) => {
      const { started, state, client } = await start(t)
      const key = await newKey('one')
      state.keys = [key.jwk]
      state.status = 500

      assert.deepEqual(await authenticate(started, client, key), REFUSED)
      state.status = 200
      assert.deepEqual(await authenticate(started, client, key), REFUSED)
      assert.equal(state.times, 1)
      started.clock.advance(11)
      assert.deepEqual(await authenticate(started, client, key), ACCEPTED)
    })

    test('are not looked for where a redirect points', async (t) => {
      const { started, state, client } = await start(t)
      const elsewhere = await servedKeys(t)
      const key = await newKey('one')
      elsewhere.state.keys = [key.jwk]
      Object.assign(state, { status: 302, location: elsewhere.jwksUri })

      assert.deepEqual(await authenticate(started, client, key), REFUSED)
      assert.equal(elsewhere.state.times, 0)
    })

    test('that are too large, or no keys at all, refuse the client', async (t) => {
      const texts = ['x'.repeat(70_000), '7', 'null', '{"keys":7}', '{"keys":[{"kty":"EC"}]}', '{']
      const bodies = [...texts]
      const { started, client } = await start(t, (_request, response) => {
        response.end(bodies.shift())
      })
      const key = await newKey('one')

      for (const text of texts) {
        assert.deepEqual(await authenticate(started, client, key), REFUSED, text.slice(0, 30))
        started.clock.advance(61)
      }
    })

    test(
      'that never come are given up after five seconds, and others are served',
      SLOW,
      async (t) => {
        const { started, client } = await start(t, () => {})
        const key = await newKey('one')
        const waiting = authenticate(started, client, key)

        const meanwhile = await started.api.get('/actuator/health')

        assert.equal(meanwhile.status, 200)
        assert.deepEqual(await waiting, REFUSED)
      },
    )

    test('inside the network cannot be registered', async (t) => {
      const { api } = await startIdentity(t, { engine })
      const token = await adminToken(api)
      const register = (jwksUri: string) =>
        api.post(
          '/api/clients',
          { name: 'Wiki', authMethod: 'private_key_jwt', jwksUri },
          { token },
        )

      for (const host of ['169.254.169.254', '10.0.0.1', '[fd00::1]', '[::ffff:10.0.0.1]'])
        for (const scheme of ['http', 'https']) {
          const { status, body } = await register(`${scheme}://${host}/keys`)
          assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], host)
        }
    })
  })
