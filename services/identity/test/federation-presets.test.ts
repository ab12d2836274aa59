import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { jwtVerify } from 'jose'
import { loadConfig } from '../src/config.ts'
import { ALICE_THERE, openBrowser, startFederated, startWithAliceAndAcme } from './federated.ts'
import { engines, startIdentity } from './start-identity.ts'
import { CLIENT_ID, CLIENT_SECRET, startUpstream } from './upstream.ts'

const TENANT = '0d5a7f3e-0c1e-4c39-9d1a-5b6f0c1f2a3b'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

for (const engine of engines) {
  describe(`the preset of Microsoft on ${engine.name}`, engine.options, () => {
    const preset = { engine, path: '/common/v2.0', provider: { TYPE: 'microsoft' } }
    const person = { sub: 'entra-1', tid: TENANT, email: 'ada@example.com' }

    test('accepts the issuer of the tenant that the token names, and no other', async (t) => {
      const { api, upstream } = await startFederated(t, preset)
      const iss = `${upstream.url}/${TENANT}/v2.0`
      upstream.faults = { claims: { iss, xms_edov: true } }

      assert.equal((await openBrowser(api).signIn(upstream, person)).status, 200)
      const stranger = { ...person, tid: 'another-tenant' }
      assert.equal((await openBrowser(api).visit(upstream, stranger)).error, 'provider_failed')
    })

    test('nOAuth: the address counts only with xms_edov, whatever email_verified says', async (t) => {
      const provider = { ...preset.provider, LINK_BY_EMAIL: 'true' }
      const { api, upstream } = await startWithAliceAndAcme(t, { ...preset, provider })
      const iss = `${upstream.url}/${TENANT}/v2.0`
      const attacker = { ...person, email: ALICE_THERE.email, email_verified: true }
      upstream.faults = { claims: { iss } }
      const { body } = await openBrowser(api).signIn(upstream, attacker)
      assert.equal(body.code, 'EMAIL_NOT_VERIFIED_BY_PROVIDER')

      upstream.faults = { claims: { iss, xms_edov: '1' } }
      assert.equal((await openBrowser(api).signIn(upstream, attacker)).status, 200)
    })
  })

  describe(`the preset of Apple on ${engine.name}`, engine.options, () => {
    test('signs its own client secret, asks for a posted answer, and takes email_verified as text', async (t) => {
      const provider = { TYPE: 'apple', TEAM_ID: 'TEAM', KEY_ID: 'KEY', PRIVATE_KEY: PEM }
      const { api, upstream, clock } = await startFederated(t, { engine, provider })
      const browser = openBrowser(api)
      const page = await browser.goTo()
      assert.equal(new URL(page).searchParams.get('response_mode'), 'form_post')
      const person = { sub: 'apple-1', email: 'ada@example.com', email_verified: 'true' }
      const form = upstream.agree(page, person)

      const posted = await api.request('POST', '/federation/acme/callback', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: form.toString(),
      })
      const query = new URLSearchParams(posted.headers.get('location') ?? '')
      const { ticket } = await browser.back(query)

      assert.equal((await browser.finish(ticket)).status, 200)
      const sent = upstream.requests.find(({ endpoint }) => endpoint === 'token')?.body
      const secret = new URLSearchParams(sent).get('client_secret') ?? ''
      const { payload, protectedHeader } = await jwtVerify(secret, createPublicKey(privateKey), {
        currentDate: clock(),
        audience: upstream.issuer,
        issuer: 'TEAM',
        subject: CLIENT_ID,
      })
      assert.deepEqual([protectedHeader.alg, protectedHeader.kid], ['ES256', 'KEY'])
      assert.equal(Number(payload.exp) - Number(payload.iat), 300)
    })
  })

  describe(`the preset of GitHub on ${engine.name}`, engine.options, () => {
    async function startGitHub(t: TestContext) {
      const clock = testClock()
      const upstream = await startUpstream(t, clock)
      const env = {
        IDENTITY_PROVIDERS: 'github',
        IDENTITY_PROVIDER_GITHUB_URL: upstream.url,
        IDENTITY_PROVIDER_GITHUB_CLIENT_ID: CLIENT_ID,
        IDENTITY_PROVIDER_GITHUB_CLIENT_SECRET: CLIENT_SECRET,
        IDENTITY_CORS_ORIGINS: 'https://app.example',
      }
      const started = await startIdentity(t, { engine, clock, env })
      const visit = async () => {
        const browser = openBrowser(started.api)
        const page = await browser.goTo({ provider: 'github' })
        const answer = upstream.agree(page, { sub: 'unused' })
        const back = await browser.back(answer, 'github')
        return { ...back, finish: () => browser.finish(back.ticket) }
      }
      upstream.faults = {
        answers: { token: { body: { access_token: 'gho_1', token_type: 'bearer', scope: '' } } },
      }
      upstream.userInfo = { id: 7, login: 'ada', email: 'public@example.com' }
      return { ...started, upstream, visit }
    }

    test('takes the number for the subject and the primary verified address', async (t) => {
      const { api, upstream, visit } = await startGitHub(t)
      upstream.emails = [
        { email: 'other@example.com', primary: false, verified: true },
        { email: 'ada@example.com', primary: true, verified: true },
      ]
      const { status, body } = await (await visit()).finish()

      assert.equal(status, 200)
      const own = { token: body.accessToken as string }
      assert.equal((await api.get('/api/users/me', own)).body.email, 'ada@example.com')
      upstream.userInfo = { id: 7, login: 'renamed' }
      assert.equal((await (await visit()).finish()).status, 200)
      const asked = upstream.requests.filter(({ endpoint }) => endpoint === 'emails')
      assert.equal(asked[0]?.headers['user-agent'], 'Plinth')
      assert.equal(asked[0]?.headers.authorization, 'Bearer gho_1')
    })

    test('does not trust the public address, nor one that is not verified', async (t) => {
      const { upstream, visit } = await startGitHub(t)
      upstream.emails = [{ email: 'ada@example.com', primary: true, verified: false }]

      const { body } = await (await visit()).finish()

      assert.equal(body.code, 'EMAIL_NOT_VERIFIED_BY_PROVIDER')
    })

    test('fails on an error with status 200, and on a user without a number', async (t) => {
      const { upstream, visit } = await startGitHub(t)
      upstream.userInfo = { id: 'ada' }
      assert.equal((await visit()).error, 'provider_failed')
      upstream.faults = { answers: { token: { body: { error: 'bad_verification_code' } } } }

      assert.equal((await visit()).error, 'provider_failed')
    })
  })
}

describe('the settings of providers', () => {
  const SECRETS = { CLIENT_ID: 'id', CLIENT_SECRET: 'secret' }
  const load = (id: string, own: Record<string, string>, more: Record<string, string> = {}) => {
    const prefix = `IDENTITY_PROVIDER_${id.toUpperCase().replaceAll('-', '_')}_`
    const named = Object.entries(own).map(([name, value]) => [`${prefix}${name}`, value])
    const env = { IDENTITY_PROVIDERS: id, ...Object.fromEntries(named), ...more }
    return () => loadConfig({ SUITE_DATA: 'unused', IDENTITY_MASTER_KEY: KEY, ...env })
  }
  const KEY = Buffer.from(Array.from({ length: 32 }, (_, n) => n)).toString('base64')

  test('know Google, Microsoft, Apple and GitHub by name', () => {
    const issuerOf = (id: string, own: Record<string, string>) =>
      load(id, { ...SECRETS, ...own })().providers[0]?.issuer
    const apple = { TEAM_ID: 'T', KEY_ID: 'K', PRIVATE_KEY: PEM.replaceAll('\n', '\\n') }

    assert.equal(issuerOf('google', {}), 'https://accounts.google.com')
    assert.equal(issuerOf('microsoft', {}), 'https://login.microsoftonline.com/common/v2.0')
    assert.equal(
      issuerOf('work', { TYPE: 'microsoft', TENANT }),
      `https://login.microsoftonline.com/${TENANT}/v2.0`,
    )
    assert.equal(issuerOf('apple', apple), 'https://appleid.apple.com')
    assert.equal(issuerOf('github', {}), 'https://github.com')
  })

  test('are refused without id, secret or issuer, with http, and with a key that is none', () => {
    const issuer = { ISSUER: 'https://sign-in.example' }
    const production = { NODE_ENV: 'production' }

    assert.throws(load('acme', SECRETS), /IDENTITY_PROVIDER_ACME_ISSUER/)
    assert.throws(load('my-acme', issuer), /IDENTITY_PROVIDER_MY_ACME_CLIENT_ID/)
    assert.throws(load('google', { CLIENT_ID: 'id' }), /GOOGLE_CLIENT_SECRET/)
    assert.throws(load('acme', { ...SECRETS, ISSUER: 'http://sign-in.example' }), /ACME_ISSUER/)
    const loopback = { ...SECRETS, ISSUER: 'http://127.0.0.1:1' }
    assert.equal(load('acme', loopback)().providers.length, 1)
    assert.throws(load('acme', loopback, production), /ACME_ISSUER/)
    const apple = { CLIENT_ID: 'id', TEAM_ID: 'T', KEY_ID: 'K', PRIVATE_KEY: 'none' }
    assert.throws(load('apple', apple), /APPLE_PRIVATE_KEY/)
    assert.throws(load('Acme!', {}), /IDENTITY_PROVIDERS/)
  })
})
