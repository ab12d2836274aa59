import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type Env, SettingsError } from '@plinth/kit/runtime'
import { apiFor } from '@plinth/kit/testing'
import { until } from '../../test/until.ts'
import type { SuiteConfig } from '../config.ts'
import { withIdentityTokens } from '../prepare/one-issuer.ts'
import { prepareStack } from '../prepare/prepare.ts'
import { services } from '../services.ts'
import { startStack } from '../stack/stack.ts'
import { checkedServices } from './checked-services.ts'
import { testEnv } from './test-env.ts'

const SUITE = 'https://app.example'

describe('the address of the suite', () => {
  test('serves every service below its path, and the ports still work', async (t) => {
    const { stack, suite } = await start(t)

    for (const { entry, url } of stack.services) {
      const health = await suite.get(`${entry.path}/actuator/health`)
      const { body } = await suite.get(`${entry.path}/`)
      const direct = await apiFor(url).get('/')
      assert.deepEqual([health.status, body.name], [200, entry.name])
      assert.equal(body.links.health, `${stack.landingUrl}${entry.path}/actuator/health`)
      assert.equal(direct.body.links.health, `${url}/actuator/health`)
    }
  })

  test('adds the path to cookies, redirects and problems', async (t) => {
    const { suite } = await start(t)

    const csrf = await suite.get('/identity/webauthn/csrf')
    const console = await suite.get('/storage/api-test')
    const refused = await suite.get('/identity/api/users/me')

    assert.match(csrf.headers.get('set-cookie') ?? '', /; Path=\/identity;/)
    assert.equal(console.headers.get('location'), '/storage/api-test/index.html')
    assert.equal(refused.body.instance, '/identity/api/users/me')
  })

  test('consoles there link to each other by path, and consoles at ports by port', async (t) => {
    const { stack, suite } = await start(t)
    const [identity] = stack.services

    const here = (await suite.get('/identity/api-test/facts.json')).body.suite
    const atPort = (await apiFor(identity?.url ?? '').get('/api-test/facts.json')).body.suite

    assert.equal(here.home, '/')
    assert.equal(here.consoles[1].href, '/storage/api-test/')
    assert.equal(atPort.home, `${stack.config.publicUrl}/`)
    assert.equal(atPort.consoles[0].href, `${identity?.publicUrl}/api-test/`)
  })

  test('is the base of all public addresses, unless a service sets its own', async (t) => {
    const { env } = await testEnv(t, {
      SUITE_PUBLIC_URL: `${SUITE}/`,
      SUITE_TRUSTED_PROXIES: '10.0.0.0/8',
      PAYMENTS_PUBLIC_URL: 'https://pay.example',
      PAYMENTS_TRUSTED_PROXIES: '192.0.2.1',
    })

    const { prepared } = await prepareStack(env)

    const found = prepared.map(({ service: { config } }) => config)
    assert.deepEqual(
      found.map(({ publicUrl }) => publicUrl),
      services.map(({ name, path }) =>
        name === 'payments' ? 'https://pay.example' : SUITE + path,
      ),
    )
    const [identity, , , payments] = found
    assert.deepEqual(identity?.trustedProxies, ['10.0.0.0/8'])
    assert.deepEqual(payments?.trustedProxies, ['192.0.2.1'])
  })

  test('is the issuer, with metadata where RFC 8414 expects it', async (t) => {
    const { suite } = await start(t, { SUITE_PUBLIC_URL: SUITE })

    const { body } = await suite.get('/.well-known/oauth-authorization-server/identity')

    assert.equal(body.issuer, `${SUITE}/identity`)
    assert.equal(body.jwks_uri, `${SUITE}/identity/.well-known/jwks.json`)
    assert.equal((await suite.get('/identity/.well-known/jwks.json')).status, 200)
  })

  test('lets storage accept the tokens of identity, in production only with a key', async (t) => {
    const { suite } = await start(t)
    const credentials = { username: 'user', password: 'password123123' }
    const { accessToken: token } = (await suite.post('/identity/api/auth/login', credentials)).body

    assert.equal((await suite.get('/storage/file/list', { token })).status, 200)
    assert.equal((await suite.get('/storage/file/list', { token: `${token}x` })).status, 401)
    const admin = (
      await suite.post('/identity/api/auth/login', { ...credentials, username: 'admin' })
    ).body.accessToken
    assert.equal((await suite.get('/storage/api/storage/status', { token: admin })).status, 200)
    // Storage called identity with the key that `npm start` gave to both.
    const { body: keys } = await suite.get('/identity/api/service-keys', { token: admin })
    assert.deepEqual(
      keys.map((key: { scopes: string[] }) => key.scopes),
      [['tokens:introspect']],
    )
    assert.notEqual(keys[0].lastUsedAt, null)

    const { env } = await testEnv(t)
    const config = { production: true, identityUrl: 'http://localhost:1' } as SuiteConfig
    const trusting = (more: Env) =>
      withIdentityTokens({ ...env, ...more }, config).STORAGE_FULL_TRUSTED_ISSUER
    const issuer = `http://localhost:${env.IDENTITY_PORT}`
    assert.equal(trusting({}), undefined)
    assert.equal(trusting({ STORAGE_FULL_TRUSTED_ISSUER_KEY: 'a key' }), issuer)
    const blank = { STORAGE_FULL_TRUSTED_ISSUER: '', STORAGE_FULL_TRUSTED_ISSUER_KEY: 'a key' }
    assert.equal(trusting(blank), '')
  })

  test('makes services refuse unsafe settings when other machines can reach it', async (t) => {
    const { env, folder } = await testEnv(t)
    const file = join(folder, 'host')
    await writeFile(file, '0.0.0.0\n')

    for (const host of [{ SUITE_HOST: '0.0.0.0' }, { SUITE_HOST_FILE: file }])
      await assert.rejects(prepareStack({ ...env, ...host }), (error: SettingsError) => {
        assert.ok(error instanceof SettingsError)
        const names = error.faults.map(({ name }) => name)
        for (const name of [
          'IDENTITY_DEMO_ACCOUNTS',
          'PAYMENTS_ACCESS',
          'STORAGE_KEY_DEVELOPMENT_KEY',
        ])
          assert.ok(names.includes(name), `${name} in ${names}`)
        return true
      })
  })

  test('finishes a forwarded request before the service closes', async (t) => {
    const { stack, suite } = await start(t)
    const credentials = { username: 'user', password: 'password123123' }
    const { accessToken: token } = (await suite.post('/storage/api/auth/login', credentials)).body
    const body = new TransformStream<Uint8Array, Uint8Array>()
    const upload = body.writable.getWriter()
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    const request = { token, headers, body: body.readable }
    const storage = stack.services.find(({ entry }) => entry.name === 'storage-full')
    assert.ok(storage)
    const forwarded = once(storage.server.server, 'request', {
      signal: AbortSignal.timeout(10_000),
    })
    const reply = suite.request('POST', '/storage/file', request)
    await upload.write(encoded(PART))
    await forwarded

    const closed = stack.close()
    await until(
      async () => storage.server.server.listening,
      (listening) => listening === false,
    )
    await upload.write(encoded(END))
    await upload.close()

    assert.equal((await reply).status, 201)
    await closed
  })
})

const PART = [
  '--x',
  'Content-Disposition: form-data; name="file"; filename="paper.pdf"',
  'Content-Type: application/pdf',
  '',
  '%PDF-1.4\n',
].join('\r\n')

const END = '%%EOF\n\r\n--x--\r\n'

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

async function start(t: TestContext, overrides: Record<string, string> = {}) {
  const { env } = await testEnv(t, overrides)
  const stack = await startStack({ env, only: checkedServices(t) })
  t.after(() => stack.close())
  return { stack, suite: apiFor(stack.landingUrl) }
}
