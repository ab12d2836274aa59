import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { deleteExpiredRequests } from '../src/database/authorizations.repository.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import {
  type Fields,
  formRequest,
  obtainTokens,
  openBrowser,
  type Registered,
  registerClient,
  requestOf,
  tokenRequest,
} from './browser.ts'
import { adminToken, engines, sharedIdentity } from './start-identity.ts'

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

for (const engine of engines) {
  describe(`private_key_jwt on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine })
    let client: Registered
    let privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
    let jwks: object

    before(async () => {
      const pair = await generateKeyPair('ES256')
      privateKey = pair.privateKey
      jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), alg: 'ES256', use: 'sig' }] }
      client = await registerClient(shared().api, { authMethod: 'private_key_jwt', jwks })
    })

    let count = 0
    async function signed(change: JWTPayload = {}, header: Fields = {}, key = privateKey) {
      const { config, clock } = shared()
      const now = Math.floor(clock().getTime() / 1000)
      const { clientId } = client
      count += 1
      const claims = {
        iss: clientId,
        sub: clientId,
        aud: config.accounts.issuer,
        exp: now + 60,
        jti: `${count}`,
      }
      return new SignJWT({ ...claims, ...change })
        .setProtectedHeader({ alg: 'ES256', ...header })
        .sign(key)
    }

    async function send(assertion: string, more: Fields = {}) {
      const fields = { grant_type: 'refresh_token', refresh_token: 'x' }
      const proof = { client_assertion: assertion, client_assertion_type: TYPE }
      const { status, body } = await formRequest(shared().api, '/oauth2/token', {
        ...fields,
        ...proof,
        ...more,
      })
      return [status, body.error]
    }

    const ACCEPTED = [400, 'invalid_grant']
    const REFUSED = [401, 'invalid_client']

    test('accepts an assertion for the issuer alone, once', async () => {
      const { config } = shared()
      const assertion = await signed()

      assert.deepEqual(await send(assertion), ACCEPTED)
      assert.deepEqual(await send(assertion), REFUSED)
      assert.deepEqual(await send(await signed({ aud: [config.accounts.issuer] })), ACCEPTED)
      assert.deepEqual(await send(await signed({}, { typ: 'client-authentication+jwt' })), ACCEPTED)
    })

    test('accepts an assertion beside the client_id that it is about', async () => {
      const { clientId } = client

      assert.deepEqual(await send(await signed(), { client_id: clientId }), ACCEPTED)
    })

    test('remembers an assertion until it expires: one is refused again after a sweep', async () => {
      const { clock, config } = shared()
      const assertion = await signed()
      await send(assertion)
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      clock.advance(30)

      const now = clock()
      await deleteExpiredRequests(db, { now, codesBefore: now }, new AbortController().signal)
      await close()

      assert.deepEqual(await send(assertion), REFUSED)
    })

    test('refuses the assertion of a client that now authenticates with a secret', async () => {
      const { api } = shared()
      const { clientId } = await registerClient(api, { authMethod: 'private_key_jwt', jwks })
      const own = { iss: clientId, sub: clientId }
      const before = await send(await signed(own))

      const token = await adminToken(api)
      await api.patch(`/api/clients/${clientId}`, { authMethod: 'client_secret' }, { token })

      assert.deepEqual(before, ACCEPTED)
      assert.deepEqual(await send(await signed(own)), REFUSED)
    })

    test('refuses every other assertion', async () => {
      const { config, clock } = shared()
      const now = Math.floor(clock().getTime() / 1000)
      const { issuer } = config.accounts
      const stranger = await generateKeyPair('ES256')

      const refused = [
        await signed({ aud: `${config.publicUrl}/oauth2/token` }),
        await signed({ aud: [issuer, 'https://other.example'] }),
        await signed({ exp: now - 1 }),
        await signed({ exp: undefined }),
        await signed({ exp: now + 400 }),
        await signed({ nbf: now + 60 }),
        await signed({ jti: '' }),
        await signed({ sub: 'another' }),
        await signed({ iss: 'another' }),
        await signed({}, { typ: 'at+jwt' }),
        await signed({}, {}, stranger.privateKey),
        'not.a.jwt',
      ]

      for (const assertion of refused) assert.deepEqual(await send(assertion), REFUSED)
      assert.deepEqual(await send(await signed(), { client_secret: 'x' }), REFUSED)
      assert.deepEqual(await send(await signed(), { client_id: 'another' }), REFUSED)
      assert.deepEqual(await send(await signed(), { client_assertion_type: 'x' }), REFUSED)
    })

    test('one of many uses of an assertion succeeds', async () => {
      const assertion = await signed()

      const replies = await Promise.all(Array.from({ length: 5 }, () => send(assertion)))

      assert.equal(replies.filter(([status]) => status === 400).length, 1)
    })
  })

  describe(`pushed requests on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine })
    let client: Registered

    before(async () => {
      client = await registerClient(shared().api, { requirePar: true, firstParty: true })
    })

    function push(change: Fields = {}, by = client) {
      const { parameters, verifier } = requestOf(client, change)
      const secret = { client_secret: by.clientSecret ?? '' }
      const form = { ...parameters, ...secret, client_id: by.clientId }
      return formRequest(shared().api, '/oauth2/par', form).then((reply) => ({
        ...reply,
        verifier,
      }))
    }

    test('stand for the request, once, for a minute, for their client', async () => {
      const { api, clock } = shared()
      const other = await registerClient(api)
      const { body, status } = await push()
      const late = await push()
      const { request_uri } = body
      const open = (uri: string, by = client) =>
        openBrowser(api).authorize({ client_id: by.clientId, request_uri: uri, scope: 'ignored' })

      const foreign = await open(request_uri, other)
      const first = await open(request_uri)
      const second = await open(request_uri)
      clock.advance(61)
      const expired = await open(late.body.request_uri)

      assert.deepEqual([status, body.expires_in], [201, 60])
      assert.ok(first.id)
      for (const { reply, location } of [foreign, second, expired])
        assert.deepEqual([reply.status, location], [400, ''])
    })

    test('parameter pollution: what is sent twice is refused, wherever a client sends a form', async () => {
      const { api } = shared()
      const confidential = await registerClient(api, { grantTypes: [DEVICE, 'authorization_code'] })
      const { clientId: id, clientSecret } = confidential
      const secret = `client_id=${id}&client_secret=${clientSecret}`
      const basic = `Basic ${Buffer.from(`${id}:${clientSecret}`).toString('base64')}`
      const { parameters } = requestOf(confidential)
      const send = async (path: string, body: string, authorization?: string) => {
        const headers = {
          'content-type': 'application/x-www-form-urlencoded',
          ...(authorization !== undefined && { authorization }),
        }
        const reply = await api.request('POST', `/oauth2/${path}`, { body, headers })
        return [reply.status, reply.body.error]
      }
      const pushed = new URLSearchParams(parameters)

      const replies = [
        await send('par', `${pushed}&client_id=${id}`, basic),
        await send('par', `${pushed}&scope=openid`, basic),
        await send('device_authorization', `${secret}&scope=openid&scope=profile`),
        await send('token', `${secret}&grant_type=refresh_token&refresh_token=x&refresh_token=y`),
        await send('revoke', 'token=x&token=y'),
        await send('userinfo', 'access_token=x', 'Bearer x'),
      ]

      for (const reply of replies) assert.deepEqual(reply, [400, 'invalid_request'])
    })

    test('have their faults told at once, in the reply', async () => {
      const { api } = shared()
      const error = async (change: Fields) => (await push(change)).body.error

      assert.equal(await error({ scope: 'x' }), 'invalid_scope')
      assert.equal(await error({ response_type: 'token' }), 'unsupported_response_type')
      assert.equal(await error({ redirect_uri: 'https://evil.example' }), 'invalid_request')
      assert.equal(await error({ resource: 'https://evil.example' }), 'invalid_target')
      assert.equal(await error({ request: 'x' }), 'request_not_supported')
      assert.equal(await error({ request_uri: 'x' }), 'invalid_request')
      const wrong = await push({}, { ...client, clientSecret: 'wrong' })
      assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client'])
      const { query } = await openBrowser(api).authorize(requestOf(client).parameters)
      assert.equal(query.get('error'), 'invalid_request')
    })
  })

  describe(`the consoles' own client on ${engine.name}`, engine.options, () => {
    const BASE = 'https://files.example/files'
    const shared = sharedIdentity({
      engine,
      env: { IDENTITY_CONSOLES: `http://localhost:8081,${BASE}` },
    })

    test('gives the consoles the user’s own tokens, without consent', async () => {
      const { api, config } = shared()
      const redirect_uri = `${BASE}/api-test/index.html`
      const parameters = { redirect_uri, scope: 'openid profile email roles' }
      const console = { clientId: 'plinth-console', clientSecret: null }

      const tokens = await obtainTokens(api, console, { parameters })
      const own = { ...parameters, redirect_uri: `${config.publicUrl}/api-test/index.html` }
      const second = await tokens.browser.authorize(
        requestOf(console, { ...own, prompt: 'none' }).parameters,
      )

      const me = await api.get('/api/users/me', { token: tokens.access_token })
      assert.equal(me.body.username, 'alice')
      assert.ok(second.code)
      assert.ok(tokens.refresh_token)
      const sessions = await api.get('/api/users/me/sessions', { token: tokens.access_token })
      const names = sessions.body.map(
        (one: { client: { name: string } | null }) => one.client?.name,
      )
      assert.ok(names.includes('Plinth console'))
      const secret = await tokenRequest(
        api,
        { grant_type: 'refresh_token' },
        {
          ...console,
          clientSecret: 'x',
        },
      )
      assert.equal(secret.status, 401)
    })
  })
}
