import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { loadConfig } from '../src/app.ts'
import {
  claimsIn,
  obtainCode,
  obtainTokens,
  openBrowser,
  type Registered,
  refreshWith,
  requestOf,
  signIn,
  tokenRequest,
} from './browser.ts'
import { engines, sharedIdentity, startIdentity, startWithAlice } from './start-identity.ts'

const ON = { IDENTITY_CLIENT_DOCUMENTS: 'on' }
const CALLBACK = 'https://tool.example/callback'

type Served = { status?: number; type?: string; headers?: Record<string, string>; text?: string }

/** A web site with the document of a client. */
async function serveDocument(t: TestContext, more: object = {}, answer: Served = {}) {
  const state = { more, answer, times: 0 }
  const listener: RequestListener = (_request, response) => {
    state.times += 1
    const { status = 200, type = 'application/json', headers = {}, text } = state.answer
    response.writeHead(status, { 'content-type': type, ...headers })
    response.end(text ?? JSON.stringify(document()))
  }
  const { base } = await serve(t, listener)
  const clientId = `${base}/client.json`
  const document = () => ({
    client_id: clientId,
    client_name: 'Tool',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'none',
    ...state.more,
  })
  return { state, base, client: { clientId, clientSecret: null } satisfies Registered }
}

async function serve(t: TestContext, listener: RequestListener) {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { base: `http://127.0.0.1:${port}` }
}

const SLOW = { tags: ['all'] }

const PRODUCTION = {
  NODE_ENV: 'production',
  IDENTITY_PUBLIC_URL: 'https://id.example',
  IDENTITY_PASSWORD_MEMORY_KIB: '19456',
  IDENTITY_PASSWORD_PASSES: '2',
}

const parameters = { redirect_uri: CALLBACK }

for (const engine of engines)
  describe(`clients that a document describes on ${engine.name}`, engine.options, () => {
    const start = (t: TestContext, env: Record<string, string> = ON) =>
      startWithAlice(t, { engine, env })

    const shared = sharedIdentity({ engine, env: ON })

    /** What a browser is told that brings a client with this document. */
    async function refusal(t: TestContext, more: object, answer: Served = {}) {
      const { api } = shared()
      const { client } = await serveDocument(t, more, answer)
      const { reply } = await openBrowser(api).authorize(requestOf(client, parameters).parameters)
      return { status: reply.status, location: reply.headers.get('location') }
    }

    test('a client is known by the address of its document, and gets tokens as a third party', async (t) => {
      const { api, token, config } = await start(t)
      const { client, state } = await serveDocument(t)

      const tokens = await obtainTokens(api, client, { parameters })
      const refreshed = await refreshWith(api, client, tokens.refresh_token)
      const { body: grants } = await api.get('/api/users/me/grants', { token })

      assert.equal(claimsIn(tokens.id_token).aud, client.clientId)
      assert.equal(claimsIn(tokens.access_token).aud, config.accounts.issuer)
      assert.equal(refreshed.status, 200)
      assert.deepEqual(grants[0].client, { clientId: client.clientId, name: 'Tool', uri: null })
      assert.equal(state.times, 1)
    })

    test('users are asked every time, and see the address of the document', async (t) => {
      const { api } = await start(t)
      const { client } = await serveDocument(t)
      const { browser } = await obtainCode(api, client, { parameters })

      const again = await browser.authorize(requestOf(client, parameters).parameters)
      const silent = { ...parameters, prompt: 'none' }
      const { query } = await browser.authorize(requestOf(client, silent).parameters)
      const { body: shown } = await browser.show(again.id)

      assert.equal(shown.step, 'consent')
      assert.deepEqual(shown.client, {
        clientId: client.clientId,
        name: 'Tool',
        uri: null,
        host: 'tool.example',
        firstParty: false,
      })
      assert.equal(query.get('error'), 'consent_required')
    })

    test('a document is fetched again after a day, and what it says then holds', async (t) => {
      const { api, clock } = await start(t)
      const { client, state } = await serveDocument(t)
      const tokens = await obtainTokens(api, client, { parameters })
      state.more = { redirect_uris: ['https://tool.example/moved'] }

      clock.advance(24 * 3600 - 60)
      const early = await openBrowser(api).authorize(requestOf(client, parameters).parameters)
      clock.advance(61)
      const late = await openBrowser(api).authorize(requestOf(client, parameters).parameters)
      const { status } = await refreshWith(api, client, tokens.refresh_token)

      assert.equal(early.reply.status, 303)
      assert.equal(late.reply.status, 400)
      assert.equal(status, 200)
      assert.equal(state.times, 2)
    })

    test('a document from before the clock was set back is fetched again', async (t) => {
      const { api, clock } = await start(t)
      const { client, state } = await serveDocument(t)
      await obtainTokens(api, client, { parameters })

      clock.advance(-50)
      await openBrowser(api).authorize(requestOf(client, parameters).parameters)
      const afterSkew = state.times
      clock.advance(-3600)
      await openBrowser(api).authorize(requestOf(client, parameters).parameters)

      assert.deepEqual([afterSkew, state.times], [1, 2])
    })

    test('a refresh after a day waits for a document that is out of reach, and fails without one', async (t) => {
      const { api, clock } = await start(t)
      const { client, state } = await serveDocument(t)
      const tokens = await obtainTokens(api, client, { parameters })
      clock.advance(24 * 3600 + 1)

      state.answer = { status: 500 }
      const down = await refreshWith(api, client, tokens.refresh_token)
      state.answer = {}
      state.more = { client_id: 'https://other.example/client.json' }
      const other = await refreshWith(api, client, tokens.refresh_token)
      state.more = {}
      const again = await refreshWith(api, client, tokens.refresh_token)

      assert.deepEqual([down.status, down.body.error], [503, 'temporarily_unavailable'])
      assert.deepEqual([other.status, other.body.error], [401, 'invalid_client'])
      assert.equal(again.status, 200)
    })

    test('an address that a stranger made up is no outage: the client is invalid', async (t) => {
      const { api } = await start(t)
      const { client } = await serveDocument(t, {}, { status: 500 })

      const { status, body } = await refreshWith(api, client, 'x')

      assert.deepEqual([status, body.error], [401, 'invalid_client'])
    })

    test('only documents of the hosts in the settings are fetched', async (t) => {
      const { client, base, state } = await serveDocument(t)
      const host = new URL(base).host
      const listed = await start(t, { IDENTITY_CLIENT_DOCUMENTS: `clients.example,${host}` })
      const other = await start(t, { IDENTITY_CLIENT_DOCUMENTS: 'clients.example' })
      const off = await start(t, {})
      const ask = async ({ api }: typeof off) =>
        (await openBrowser(api).authorize(requestOf(client, parameters).parameters)).reply.status

      assert.deepEqual([await ask(off), await ask(other), state.times], [400, 400, 0])
      assert.equal(await ask(listed), 303)
    })

    test('discovery says whether documents and registration are supported', async (t) => {
      const both = { ...ON, IDENTITY_CLIENT_REGISTRATION: 'on' }
      const [on, off] = [await start(t, both), await start(t, {})]
      const read = async ({ api }: typeof on) =>
        (await api.get('/.well-known/openid-configuration')).body

      const { publicUrl } = on.config
      const [with_, without] = [await read(on), await read(off)]
      assert.equal(with_.client_id_metadata_document_supported, true)
      assert.equal(with_.registration_endpoint, `${publicUrl}/oauth2/register`)
      assert.equal('client_id_metadata_document_supported' in without, false)
      assert.equal('registration_endpoint' in without, false)
    })

    test('a document that names another client is refused', async (t) => {
      for (const client_id of [
        'plinth-console',
        'https://tool.example/client.json',
        undefined,
        7,
      ]) {
        const { status, location } = await refusal(t, { client_id })
        assert.deepEqual([status, location], [400, null])
      }
    })

    test('a document that redirects is refused, and the target is not asked', async (t) => {
      const target = await serveDocument(t)
      const headers = { location: target.client.clientId }

      const { status } = await refusal(t, {}, { status: 302, headers })

      assert.equal(status, 400)
      assert.equal(target.state.times, 0)
    })

    test('a huge document and one of another type are refused', async (t) => {
      const huge = await refusal(t, { padding: 'x'.repeat(8192) })
      const html = await refusal(t, {}, { type: 'text/html' })
      const list = await refusal(t, {}, { text: '[]' })
      const broken = await refusal(t, {}, { text: '{' })

      assert.deepEqual(
        [huge, html, list, broken].map(({ status }) => status),
        [400, 400, 400, 400],
      )
    })

    test('a document that never ends is given up after five seconds', SLOW, async (t) => {
      const { api } = await start(t)
      const { base } = await serve(t, (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{')
      })
      const client = { clientId: `${base}/client.json` }

      const started = performance.now()
      const { reply } = await openBrowser(api).authorize(requestOf(client, parameters).parameters)

      assert.equal(reply.status, 400)
      assert.ok(performance.now() - started < 8_000)
    })

    test('in production no document inside the network is fetched', async (t) => {
      const { client, state } = await serveDocument(t)
      const { api } = await startIdentity(t, { engine, env: { ...ON, ...PRODUCTION } })
      const { port } = new URL(client.clientId)
      const addresses = [
        client.clientId,
        `https://127.0.0.1:${port}/client.json`,
        `https://localhost:${port}/client.json`,
        `https://[::ffff:127.0.0.1]:${port}/client.json`,
        'https://169.254.169.254/latest/meta-data',
        'https://10.0.0.1/client.json',
      ]

      for (const clientId of addresses) {
        const request = requestOf({ clientId }, parameters).parameters
        const { reply } = await openBrowser(api).authorize(request)
        assert.equal(reply.status, 400, clientId)
        assert.equal(reply.headers.get('location'), null)
      }
      assert.equal(state.times, 0)
    })

    test('an id that is not the one way to write an address is refused without asking it', async (t) => {
      const { api } = await start(t)
      const { base, state } = await serveDocument(t)
      const { host } = new URL(base)
      const ids = [
        `${base}`,
        `${base}/`,
        `${base}/a/../client.json`,
        `${base}/client.json#fragment`,
        `http://user@${host}/client.json`,
        `HTTP://${host}/client.json`,
        `${base}/client.json\u0000`,
        `${base}/\ud800`,
        `${base}/${'x'.repeat(1000)}`,
        'http://clients.example/client.json',
        'ftp://clients.example/client.json',
      ]

      for (const clientId of ids) {
        const request = requestOf({ clientId }, parameters).parameters
        const { reply } = await openBrowser(api).authorize(request)
        assert.equal(reply.status, 400, clientId)
      }
      assert.equal(state.times, 0)
    })

    test('a document cannot make its client one of our own, the consoles, or confidential', async (t) => {
      const { api, token, config } = await start(t)
      const claimed = { first_party: true, firstParty: true, selfRegistered: false, resources: [] }
      const { client } = await serveDocument(t, { ...claimed, scope: 'openid roles users:read' })
      const tokens = await obtainTokens(api, client, {
        parameters: { ...parameters, scope: 'openid roles users:read' },
      })
      const asUser = await api.get('/api/users/me', { token: tokens.access_token })

      assert.equal(tokens.scope, 'openid roles')
      assert.equal(claimsIn(tokens.access_token).aud, config.accounts.issuer)
      assert.equal(asUser.status, 401)
      assert.equal((await api.get('/api/users/me', { token })).status, 200)
      for (const client_name of ['Plinth console', 'PLINTH-Console', 'Ｐlinth console'])
        assert.equal((await refusal(t, { client_name })).status, 400, client_name)
      const secret = { token_endpoint_auth_method: 'client_secret_basic' }
      assert.equal((await refusal(t, secret)).status, 400)
      assert.equal((await refusal(t, { client_secret: 'x' })).status, 400)
    })

    test('names with markup are text, and names that read as something else are refused', async (t) => {
      const { api } = await start(t)
      const client_name = '<img src=x onerror=alert(1)>"\'&'
      const { client } = await serveDocument(t, { client_name })
      const browser = openBrowser(api)
      const { id } = await browser.authorize(requestOf(client, parameters).parameters)
      const { body } = await signIn(api, browser, id)

      assert.equal(body.client.name, client_name)
      for (const name of [
        'Bank\u202eeldoop',
        'Bank\u0000',
        'Bank\ud800',
        '',
        ' ',
        'x'.repeat(101),
        7,
      ])
        assert.equal((await refusal(t, { client_name: name })).status, 400, String(name))
    })

    test('the home page of a document is shown only if it is on the same host', async (t) => {
      const { api } = await start(t)
      const shown = async (uri: (base: string) => string) => {
        const { client, state, base } = await serveDocument(t)
        state.more = { client_uri: uri(base) }
        const browser = openBrowser(api)
        const { id } = await browser.authorize(requestOf(client, parameters).parameters)
        return (await browser.show(id)).body.client.uri
      }

      assert.match(await shown((base) => `${base}/about`), /about$/)
      assert.equal(await shown(() => 'https://bank.example/'), null)
      assert.equal(await shown(() => 'javascript:alert(1)'), null)
    })

    test('redirect addresses of a document follow the rules of every client', async (t) => {
      const bad = ['javascript:alert(1)', 'http://tool.example/cb', 'https://tool.example/#x', 'x']
      for (const uri of bad) assert.equal((await refusal(t, { redirect_uris: [uri] })).status, 400)
      assert.equal((await refusal(t, { redirect_uris: undefined })).status, 400)
      const other = ['https://tool.example/other']
      const { status, location } = await refusal(t, { redirect_uris: other })
      assert.deepEqual([status, location], [400, null])
    })

    test('one network cannot make the service fetch without end', async (t) => {
      const { api } = await start(t)
      const { base, state } = await serveDocument(t, {}, { status: 404 })
      const ask = async (name: number) => {
        const request = requestOf({ clientId: `${base}/${name}` }, parameters).parameters
        return (await openBrowser(api).authorize(request)).reply.status
      }
      for (let name = 0; name < 60; name += 1) await ask(name)

      assert.equal(await ask(61), 429)
      assert.equal(state.times, 60)
    })

    test('concurrent requests of an unknown client fetch its document once', async (t) => {
      const { api } = await start(t)
      const { client, state } = await serveDocument(t)
      const ask = () => openBrowser(api).authorize(requestOf(client, parameters).parameters)

      const replies = await Promise.all([ask(), ask(), ask(), ask()])

      assert.deepEqual(new Set(replies.map(({ reply }) => reply.status)), new Set([303]))
      assert.equal(state.times, 1)
    })

    test('a client that a document describes is told apart from a service key', async (t) => {
      const { api } = await start(t)
      const { client } = await serveDocument(t)
      await obtainTokens(api, client, { parameters })

      const { status, body } = await tokenRequest(api, { grant_type: 'client_credentials' }, client)

      assert.deepEqual([status, body.error], [400, 'unauthorized_client'])
    })
  })

for (const engine of engines)
  describe(`clients that register themselves on ${engine.name}`, engine.options, () => {
    const ON = { IDENTITY_CLIENT_REGISTRATION: 'on' }
    const TOOL = { client_name: 'Tool', redirect_uris: [CALLBACK] }

    test('a client registers itself, and its users are asked every time', async (t) => {
      const { api, config } = await startWithAlice(t, { engine, env: ON })

      const registered = await api.post('/oauth2/register', TOOL)
      const client = { clientId: registered.body.client_id, clientSecret: null }
      const tokens = await obtainTokens(api, client, { parameters })
      const again = await tokens.browser.authorize(requestOf(client, parameters).parameters)

      assert.equal(registered.status, 201)
      const { client_id, client_id_issued_at, ...described } = registered.body
      assert.equal(typeof client_id_issued_at, 'number')
      assert.match(client_id, /^[\w-]{22}$/)
      assert.deepEqual(described, {
        client_name: 'Tool',
        redirect_uris: [CALLBACK],
        post_logout_redirect_uris: [],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: 'openid profile email offline_access',
        id_token_signed_response_alg: 'RS256',
      })
      assert.equal(claimsIn(tokens.access_token).aud, config.accounts.issuer)
      assert.equal((await tokens.browser.show(again.id)).body.step, 'consent')
    })

    test('registration is off unless it is switched on', async (t) => {
      const { api } = await startIdentity(t, { engine })

      const { status, body } = await api.post('/oauth2/register', TOOL)

      assert.deepEqual([status, body.error], [404, 'invalid_request'])
    })

    test('administrators see who registered itself, and can disable it', async (t) => {
      const { api } = await startWithAlice(t, { engine, env: ON })
      const { body } = await api.post('/oauth2/register', TOOL)
      const client = { clientId: body.client_id, clientSecret: null }
      const tokens = await obtainTokens(api, client, { parameters })
      const admin = { username: 'admin', password: 'password123123' }
      const { accessToken: token } = (await api.post('/api/auth/login', admin)).body

      const listed = await api.get(`/api/clients/${client.clientId}`, { token })
      await api.patch(`/api/clients/${client.clientId}`, { enabled: false }, { token })
      const { status } = await refreshWith(api, client, tokens.refresh_token)

      const { selfRegistered, firstParty, authMethod, createdBy } = listed.body
      assert.deepEqual(
        { selfRegistered, firstParty, authMethod, createdBy },
        {
          selfRegistered: true,
          firstParty: false,
          authMethod: 'none',
          createdBy: 'self-registration',
        },
      )
      assert.equal(status, 401)
    })

    test('a description that is not valid is refused with the error of the standard', async (t) => {
      const { api } = await startIdentity(t, { engine, env: ON })
      const errorOf = async (body: unknown) => {
        const { status, body: reply } = await api.post('/oauth2/register', body)
        return [status, reply.error]
      }

      const metadata = [400, 'invalid_client_metadata']
      const redirect = [400, 'invalid_redirect_uri']
      assert.deepEqual(await errorOf({ client_name: 'Tool' }), redirect)
      assert.deepEqual(await errorOf({ redirect_uris: ['http://tool.example/'] }), redirect)
      const secret = { ...TOOL, token_endpoint_auth_method: 'client_secret_post' }
      assert.deepEqual(await errorOf(secret), metadata)
      assert.deepEqual(await errorOf({ ...TOOL, client_name: 'Plinth  Console' }), metadata)
      assert.deepEqual(await errorOf({ ...TOOL, client_name: 'x\ud800' }), metadata)
      assert.deepEqual(await errorOf({ ...TOOL, grant_types: ['implicit'] }), metadata)
      assert.deepEqual(await errorOf({ ...TOOL, grant_types: 'code' }), metadata)
      assert.deepEqual(await errorOf({ ...TOOL, response_types: ['token'] }), metadata)
      assert.deepEqual(await errorOf({ ...TOOL, scope: 7 }), metadata)
      assert.deepEqual(await errorOf([]), [400, 'invalid_request'])
    })

    test('a client that registers itself cannot be one of our own', async (t) => {
      const { api, config } = await startWithAlice(t, { engine, env: ON })
      const claimed = { firstParty: true, first_party: true, client_id: 'plinth-console' }

      const { body } = await api.post('/oauth2/register', { ...TOOL, ...claimed })
      const client = { clientId: body.client_id, clientSecret: null }
      const tokens = await obtainTokens(api, client, { parameters })

      assert.notEqual(body.client_id, 'plinth-console')
      assert.equal(claimsIn(tokens.access_token).aud, config.accounts.issuer)
    })

    test('a network registers twenty clients an hour', async (t) => {
      const { api, clock } = await startIdentity(t, { engine, env: ON })
      const register = async () => (await api.post('/oauth2/register', TOOL)).status
      const first = await Promise.all(Array.from({ length: 20 }, register))

      const next = await register()
      clock.advance(3601)

      assert.deepEqual(new Set(first), new Set([201]))
      assert.equal(next, 429)
      assert.equal(await register(), 201)
    })
  })

test('the settings name off, on, or hosts', () => {
  const load = (value: string) => loadConfig({ IDENTITY_CLIENT_DOCUMENTS: value }).openid.documents

  assert.equal(load('off'), 'off')
  assert.equal(load('ON'), 'on')
  assert.deepEqual(load('a.example, b.example:8443'), ['a.example', 'b.example:8443'])
  for (const wrong of ['https://a.example', 'a.example/x', 'on,a.example', '*.example'])
    assert.throws(() => load(wrong), /IDENTITY_CLIENT_DOCUMENTS/)
})
