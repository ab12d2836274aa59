import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { CALLBACK, registerClient, requestOf } from './browser.ts'
import { startWithAliceAndAcme } from './federated.ts'
import { adminToken, bothEngines } from './start-identity.ts'

/** NUL, a lone surrogate, bytes that are not UTF-8, names of Object.prototype, and tokens that are none. */
const VALUES = ['a%00b', '%ED%A0%80', '%ff', '__proto__', '-1', 'W10.W10.W10']
/** A JWS whose header has a NUL in `kid`. */
const TOKEN = 'eyJhbGciOiJFUzI1NiIsImtpZCI6ImFcdTAwMDAifQ.eyJzdWIiOiIxIn0.AAAA'
const JSON_VALUES = [
  '"\\u0000"',
  '"\\ud800"',
  '"http://127.0.0.1/\\u0000"',
  '["http://127.0.0.1/\\u0000"]',
  '{"keys":[{"kty":"EC","kid":"\\u0000"}]}',
  '{}',
  '[null]',
  '1e400',
]

const FORM = 'application/x-www-form-urlencoded'
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Sends each hostile value in the place of each parameter, and lists the requests that the service failed at. */
async function failuresOf(api: Api, targets: Target[]): Promise<string[]> {
  const failures: string[] = []
  for (const target of targets)
    for (const name of Object.keys(target.parameters))
      for (const value of target.json ? JSON_VALUES : [...VALUES, TOKEN]) {
        const { status } = await send(api, target, name, value)
        if (status >= 500)
          failures.push(`${status} ${target.method} ${target.path}: ${name}=${value}`)
      }
  return failures
}

function send(api: Api, target: Target, name: string, value: string) {
  const { method, path, parameters, json, headers } = target
  const others = Object.entries(parameters).filter(([other]) => other !== name)
  if (json) {
    const members = others.map(([other, its]) => `"${other}":${JSON.stringify(its)}`)
    const body = `{${[...members, `"${name}":${value}`].join(',')}}`
    return api.request(method, path, {
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  }
  const form = `${new URLSearchParams(others.map(([other, its]) => [other, String(its)]))}&${name}=${value}`
  if (method === 'GET') return api.request('GET', `${path}?${form}`, {})
  return api.request(method, path, { headers: { 'content-type': FORM }, body: form })
}

type Target = {
  method: string
  path: string
  parameters: Record<string, unknown>
  json?: boolean
  headers?: Record<string, string>
}

for (const engine of bothEngines)
  describe(`hostile values in sign-ins on ${engine.name}`, engine.options, () => {
    async function start(t: Parameters<typeof startWithAliceAndAcme>[0]) {
      const env = {
        IDENTITY_CLIENT_REGISTRATION: 'on',
        IDENTITY_SIGN_IN_CODE: 'true',
        IDENTITY_MAIL_LIMITS: 'false',
      }
      const started = await startWithAliceAndAcme(t, { engine, env })
      const { api } = started
      const client = await registerClient(api, { grantTypes: ['authorization_code', DEVICE] })
      return { ...started, client, admin: `Bearer ${await adminToken(api)}` }
    }

    test('fail no endpoint of the provider', async (t) => {
      const { api, client } = await start(t)
      const credentials = { client_id: client.clientId, client_secret: client.clientSecret ?? '' }
      const asked = requestOf(client, { login_hint: 'x', id_token_hint: 'x', resource: 'x' })
      const grant = { ...credentials, redirect_uri: CALLBACK, code_verifier: 'v'.repeat(43) }
      const post = (path: string, parameters: object): Target => ({
        method: 'POST',
        path: `/oauth2/${path}`,
        parameters: { ...parameters },
      })
      const get = (path: string, parameters: object): Target => ({
        ...post(path, parameters),
        method: 'GET',
      })

      const failures = await failuresOf(api, [
        get('authorize', { ...asked.parameters, request_uri: 'x' }),
        get('authorize/answer', { authorization: 'x' }),
        get('logout', { id_token_hint: 'x', client_id: 'x', post_logout_redirect_uri: 'x' }),
        post('token', { grant_type: 'authorization_code', code: 'x', ...grant }),
        post('token', { grant_type: 'refresh_token', refresh_token: 'x', ...credentials }),
        post('token', { grant_type: DEVICE, device_code: 'x', ...credentials }),
        post('token', { grant_type: 'client_credentials', client_assertion: 'x' }),
        post('token', { client_assertion: 'x', client_assertion_type: ASSERTION }),
        post('par', { ...asked.parameters, ...credentials }),
        post('device_authorization', { ...credentials, scope: 'openid', resource: 'x' }),
        post('revoke', { token: 'x', token_type_hint: 'x' }),
        post('introspect', { token: 'x', ...credentials }),
        post('userinfo', { access_token: 'x' }),
      ])

      assert.deepEqual(failures, [])
    })

    test('fail no endpoint that takes JSON', async (t) => {
      const { api, token, admin, client } = await start(t)
      const own = { authorization: `Bearer ${token}` }
      const administrator = { authorization: admin }
      const post = (path: string, parameters: object, headers = {}): Target => ({
        method: 'POST',
        path,
        parameters: { ...parameters },
        json: true,
        headers,
      })
      const described = {
        redirectUris: [CALLBACK],
        postLogoutRedirectUris: [],
        resources: [],
        uri: null,
        backchannelLogoutUri: null,
      }
      const keys = { authMethod: 'private_key_jwt', redirectUris: [CALLBACK] }
      const round = { returnTo: 'https://app.example/', challenge: 'c'.repeat(43) }

      const failures = await failuresOf(api, [
        post('/api/clients', { name: 'Wiki', ...described }, administrator),
        post('/api/clients', { name: 'Wiki', ...keys, jwksUri: 'x' }, administrator),
        post('/api/clients', { name: 'Wiki', ...keys, jwks: {} }, administrator),
        post(`/api/clients/${client.clientId}/rotate-secret`, { overlapSeconds: 0 }, administrator),
        post('/oauth2/register', { redirect_uris: [CALLBACK], client_name: 'x', client_uri: 'x' }),
        post('/api/authorizations', { userCode: 'BBBB-BBBB' }),
        post(
          `/api/authorizations/${'x'.repeat(22)}`,
          { action: 'sign-in', refreshToken: 'x' },
          own,
        ),
        post('/api/auth/providers/acme/start', round),
        post('/api/auth/providers/finish', { ticket: 'x', verifier: 'x' }),
        post('/api/auth/providers/sign-up', { signUpToken: 'x', email: 'x@example.com' }),
        post('/api/auth/providers/sign-up/confirm', { signUpToken: 'x', code: '12345678' }),
        post('/api/users/me/identities', { linkToken: 'x' }, own),
        post('/api/users/me/identities/acme/start', round, own),
        post('/api/auth/code', { email: 'x@example.com' }),
        post('/api/auth/code/confirm', { requestToken: 'x', code: '12345678' }),
      ])

      assert.deepEqual(failures, [])
    })

    test('fail no address that has them in its path, nor a cookie', async (t) => {
      const { api, token, admin } = await start(t)
      const failures: string[] = []
      const paths = (value: string) => [
        `GET /federation/${value}/open?request=x`,
        `GET /federation/${value}/callback?state=x`,
        `GET /federation/acme/open?request=${value}`,
        `GET /federation/acme/callback?state=${value}&code=${value}`,
        `GET /api/authorizations/${value}`,
        `GET /api/clients/${value}`,
        `GET /api/clients?sort=${value}`,
        `GET /api/users/${value}/grants`,
        `GET /api/users/${value}/identities`,
        `POST /api/providers/${value}/test`,
        `DELETE /api/users/me/grants/${value}`,
        `DELETE /api/users/me/identities/${value}`,
      ]

      for (const value of [...VALUES, TOKEN])
        for (const line of paths(value)) {
          const [method = '', path = ''] = line.split(' ')
          const bearer = path.includes('/me/') ? `Bearer ${token}` : admin
          const headers = { authorization: bearer, cookie: `plinth-sso=${value}` }
          const { status } = await api.request(method, path, { headers })
          if (status >= 500) failures.push(`${status} ${line}`)
        }

      assert.deepEqual(failures, [])
    })
  })
