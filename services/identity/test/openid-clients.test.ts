import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  formRequest,
  obtainCode,
  obtainTokens,
  openBrowser,
  refreshWith,
  registerClient,
  requestOf,
  tokenRequest,
} from './browser.ts'
import { adminToken, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const CALLBACK = 'https://wiki.example/callback'

for (const engine of engines) {
  describe(`clients on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine })

    async function admin() {
      const { api } = shared()
      const token = await adminToken(api)
      return { api, token, create: (body: object) => api.post('/api/clients', body, { token }) }
    }

    test('are created with defaults, and the secret is shown once', async () => {
      const { api, token, create } = await admin()

      const created = await create({ name: 'Wiki', redirectUris: [CALLBACK] })

      const { clientId, clientSecret, ...client } = created.body
      const read = await api.get(`/api/clients/${clientId}`, { token })
      assert.equal(created.status, 201)
      assert.ok(clientSecret.length >= 43)
      assert.equal('clientSecret' in read.body, false)
      assert.deepEqual(
        [client.authMethod, client.grantTypes, client.scopes, client.requirePkce, client.enabled],
        [
          'client_secret',
          ['authorization_code', 'refresh_token'],
          ['openid', 'profile', 'email', 'offline_access'],
          true,
          true,
        ],
      )
      assert.deepEqual(
        [client.firstParty, client.requirePar, client.idTokenAlg],
        [false, false, 'RS256'],
      )
    })

    test('have ids that a command line does not take for an option', async () => {
      const { create } = await admin()
      const names = Array.from({ length: 100 }, (_, index) => `Tool ${index}`)

      const made = await Promise.all(
        names.map((name) => create({ name, redirectUris: [CALLBACK] })),
      )

      for (const { body } of made) assert.match(body.clientId, /^[A-Za-z][\w-]{21}$/)
    })

    test('are listed in pages, for administrators only', async () => {
      const { api, token, create } = await admin()
      await create({ name: 'Listed', redirectUris: [CALLBACK] })

      const page = await api.get('/api/clients?size=1&sort=createdAt,desc', { token })
      const denied = await api.get('/api/clients', { token: shared().token })

      assert.deepEqual([page.status, page.body.content.length], [200, 1])
      assert.ok(page.body.totalElements >= 1)
      assert.equal(denied.status, 403)
    })

    test('are refused without keys, without PKCE, or with addresses that cannot be registered', async () => {
      const { create } = await admin()
      const withUri = (uri: string) => ({ redirectUris: [uri] })
      const refused: object[] = [
        { authMethod: 'private_key_jwt' },
        { authMethod: 'none', requirePkce: false },
        { redirectUris: [] },
        { scopes: ['users:read'] },
        { grantTypes: ['client_credentials'] },
        { resources: ['plinth'] },
        { resources: [shared().config.accounts.issuer] },
        { resources: ['no address'] },
        { resources: ['https://api.example/#part'] },
        { resources: [`https://api.example/${'x'.repeat(481)}`] },
        { postLogoutRedirectUris: ['http://wiki.example/'] },
        { jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] }, authMethod: 'private_key_jwt' },
        { jwksUri: 'ftp://wiki.example/keys' },
        { jwksUri: 'http://127.0.0.1/\0', authMethod: 'private_key_jwt' },
        { backchannelLogoutUri: 'javascript:alert(1)' },
        { backchannelLogoutUri: 'http://127.0.0.1/\0' },
        { backchannelLogoutUri: ' http://127.0.0.1/' },
        { uri: 'javascript:alert(1)' },
        withUri('http://wiki.example/callback'),
        withUri('https://wiki.example/callback#x'),
        withUri('https://user@wiki.example/'),
        withUri('https://*.example/'),
        withUri('https://wiki.example/ x'),
        withUri('javascript:alert(1)'),
        withUri('myapp:/callback'),
      ]

      for (const fault of refused) {
        const { status, body } = await create({ name: 'x', redirectUris: [CALLBACK], ...fault })
        assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(fault))
      }
    })

    test('that are public have no secret, and may have loopback and private addresses', async () => {
      const { create } = await admin()
      const redirectUris = ['http://127.0.0.1/cb', 'http://[::1]:7/cb', 'com.example.app:/cb']

      const { status, body } = await create({ name: 'Command', authMethod: 'none', redirectUris })

      assert.deepEqual([status, body.clientSecret], [201, null])
    })

    test('are changed, disabled and deleted', async () => {
      const { api, token, create } = await admin()
      const { body } = await create({ name: 'Old', redirectUris: [CALLBACK] })
      const path = `/api/clients/${body.clientId}`
      const { parameters } = requestOf(body)

      const renamed = await api.patch(path, { name: 'New' }, { token })
      const faulty = await api.patch(path, { authMethod: 'private_key_jwt' }, { token })
      const disabled = await api.patch(path, { enabled: false }, { token })
      const refused = await openBrowser(api).authorize(parameters)
      const deleted = await api.delete(path, { token })

      assert.equal(renamed.body.name, 'New')
      assert.equal(faulty.status, 400)
      assert.equal(disabled.body.enabled, false)
      assert.deepEqual([refused.reply.status, refused.location], [400, ''])
      assert.equal(deleted.status, 204)
      assert.equal((await api.get(path, { token })).body.code, 'CLIENT_NOT_FOUND')
      assert.equal((await api.patch(path, { name: 'x' }, { token })).status, 404)
      assert.equal((await api.delete(path, { token })).status, 404)
    })

    test('get a new secret, and the old one works for the overlap', async () => {
      const { api, token, create } = await admin()
      const { body: client } = await create({ name: 'Rotated', redirectUris: [CALLBACK] })
      const path = `/api/clients/${client.clientId}/rotate-secret`
      const isAccepted = async (clientSecret: string) => {
        const fields = { grant_type: 'refresh_token', refresh_token: 'x' }
        const { body } = await tokenRequest(api, fields, { ...client, clientSecret })
        return body.error === 'invalid_grant'
      }

      const second = await api.post(path, { overlapSeconds: 60 }, { token })
      const both = [
        await isAccepted(client.clientSecret),
        await isAccepted(second.body.clientSecret),
      ]
      shared().clock.advance(61)
      const afterwards = [
        await isAccepted(client.clientSecret),
        await isAccepted(second.body.clientSecret),
      ]
      const third = await api.post(path, {}, { token: await adminToken(api) })

      assert.equal(second.status, 201)
      assert.deepEqual(both, [true, true])
      assert.deepEqual(afterwards, [false, true])
      assert.equal(await isAccepted(second.body.clientSecret), false)
      assert.equal(await isAccepted(third.body.clientSecret), true)
      const tooLong = await api.post(
        path,
        { overlapSeconds: 604_801 },
        { token: await adminToken(api) },
      )
      assert.equal(tooLong.status, 400)
    })

    test('authenticate with Basic, whose parts are form-encoded, or in the form, not both', async () => {
      const { api, create } = await admin()
      const { body: client } = await create({ name: 'Basic', redirectUris: [CALLBACK] })
      const { clientId, clientSecret } = client
      const fields = { grant_type: 'refresh_token', refresh_token: 'x' }
      const basic = (secret: string) => ({
        authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
      })
      const encoded = clientSecret.replace(
        /./g,
        (letter: string) => `%${letter.charCodeAt(0).toString(16)}`,
      )
      const send = async (form: Record<string, string>, headers = {}) => {
        const { status, body } = await formRequest(api, '/oauth2/token', form, headers)
        return [status, body.error]
      }
      const both = { ...fields, client_id: clientId, client_secret: clientSecret }

      assert.deepEqual(await send(fields, basic(clientSecret)), [400, 'invalid_grant'])
      assert.deepEqual(await send(fields, basic(encoded)), [400, 'invalid_grant'])
      assert.deepEqual(await send(both), [400, 'invalid_grant'])
      assert.deepEqual(await send(both, basic(clientSecret)), [401, 'invalid_client'])
      assert.deepEqual(await send(fields, basic('wrong+%25:')), [401, 'invalid_client'])
      assert.deepEqual(await send({ ...fields, client_id: clientId }), [401, 'invalid_client'])
      assert.deepEqual(await send(fields), [401, 'invalid_client'])
    })

    test('that authenticate with Basic may name themselves in the form, and no other client', async () => {
      const { api, create } = await admin()
      const { body: client } = await create({ name: 'Named', redirectUris: [CALLBACK] })
      const { body: other } = await create({ name: 'Other', redirectUris: [CALLBACK] })
      const credentials = Buffer.from(`${client.clientId}:${client.clientSecret}`)
      const headers = { authorization: `Basic ${credentials.toString('base64')}` }
      const send = async (client_id: string) => {
        const fields = { grant_type: 'refresh_token', refresh_token: 'x', client_id }
        const { status, body } = await formRequest(api, '/oauth2/token', fields, headers)
        return [status, body.error]
      }

      assert.deepEqual(await send(client.clientId), [400, 'invalid_grant'])
      assert.deepEqual(await send(other.clientId), [401, 'invalid_client'])
    })

    test('that are public are refused when they send a secret', async () => {
      const { api, create } = await admin()
      const { body: client } = await create({
        name: 'Public',
        authMethod: 'none',
        redirectUris: [CALLBACK],
      })
      const fields = { grant_type: 'refresh_token', refresh_token: 'x' }

      const plain = await tokenRequest(api, fields, client)
      const secret = await tokenRequest(api, fields, { ...client, clientSecret: 'guess' })

      assert.equal(plain.body.error, 'invalid_grant')
      assert.deepEqual([secret.status, secret.body.error], [401, 'invalid_client'])
    })

    test('may not use another grant than those they registered', async () => {
      const { api, create } = await admin()
      const { body: client } = await create({
        name: 'Codes',
        grantTypes: ['authorization_code'],
        redirectUris: [CALLBACK],
      })

      for (const grant_type of ['refresh_token', 'client_credentials']) {
        const { status, body } = await tokenRequest(api, { grant_type }, client)
        assert.deepEqual([status, body.error], [400, 'unauthorized_client'])
      }
      const { body: tokens } = await tokenRequest(
        api,
        (await obtainCode(api, client)).exchange,
        client,
      )
      assert.equal('refresh_token' in tokens, false)
    })
  })

  describe(`a client that is disabled or deleted on ${engine.name}`, engine.options, () => {
    for (const end of ['disabled', 'deleted'])
      test(`loses codes, refresh and access tokens at once when ${end}`, async (t) => {
        const { api } = await startWithAlice(t, { engine })
        const client = await registerClient(api)
        const tokens = await obtainTokens(api, client)
        const { exchange } = await obtainCode(api, client, { browser: tokens.browser })
        const token = await adminToken(api)
        const path = `/api/clients/${client.clientId}`

        if (end === 'disabled') {
          await api.patch(path, { enabled: false }, { token })
          await api.patch(path, { enabled: true }, { token })
        } else await api.delete(path, { token })

        const userinfo = await api.get('/oauth2/userinfo', { token: tokens.access_token })
        assert.equal(userinfo.status, 401)
        const error = end === 'disabled' ? 'invalid_grant' : 'invalid_client'
        assert.equal((await refreshWith(api, client, tokens.refresh_token)).body.error, error)
        assert.equal((await tokenRequest(api, exchange, client)).body.error, error)
      })
  })
}
