import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import type { Api, TestEngine } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import en from '../src/mail/languages/en.json' with { type: 'json' }
import { openOutbox } from '../src/mail/outbox.ts'
import { reportNewBrowsers } from '../src/notices/new-browsers.ts'
import { enrol, firstStep, secondStep } from './authenticator-app.ts'
import { kindsTo, mailTo, tokenOf } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const FIRST_EMAIL = 'alice@first.example'
const EMAIL = 'alice@new.example'
const NEW_PASSWORD = 'an entirely new password'
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0'
const EDGE = 'Mozilla/5.0 AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0'

/** Mails that ask for something, or go to another user or to someone who is no longer a user. */
const NO_NOTICE = [
  'account-erased',
  'endpoint-disabled',
  'endpoint-failing',
  'verify-email',
  'password-reset',
  'password-reset-by-administrator',
  'password-reset-keeping-passkeys',
  'registered-twice',
  'password-ended',
  'email-change',
  'email-taken',
  'already-registered',
  'invitation',
  'data-export',
  'sign-in-code',
  'sign-up-code',
  'account-emptied',
  // Their events are those of sign-ins with providers, which have tests of their own.
  'identity-linked',
  'identity-unlinked',
  'grant-given',
]

type Started = Awaited<ReturnType<typeof startWithAlice>>

/** Runs the job that reports new browsers once, with the clock of the test. */
async function reportNow({ config, clock }: Pick<Started, 'config' | 'clock'>) {
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  const outbox = openOutbox(db, clock, config)
  const { publicUrl } = config
  await reportNewBrowsers({ db, outbox, publicUrl }, new AbortController().signal)
  await close()
}

const json = { 'content-type': 'application/json' }

async function start(t: TestContext, engine: TestEngine) {
  const env = { IDENTITY_TRUSTED_PROXIES: 'loopback' }
  const started = await startWithAlice(t, { engine, env })
  const { api, userId } = started
  const asAdmin = async (method: string, path: string, body: object = { reason: 'asked for' }) => {
    const token = await adminToken(api)
    const sent = { token, headers: json, body: JSON.stringify(body) }
    const { status } = await api.request(method, `/api/users/${userId}${path}`, sent)
    assert.ok(status < 300, `${method} ${path}: ${status}`)
  }
  return { ...started, asAdmin }
}

const logIn = async (api: Api, password: string, userAgent?: string, address?: string) => {
  const headers = {
    ...(userAgent !== undefined && { 'user-agent': userAgent }),
    ...(address !== undefined && { 'x-forwarded-for': address }),
  }
  const reply = await api.post('/api/auth/login', { ...ALICE, password }, { headers })
  assert.equal(reply.status, 200)
  return reply.body as { accessToken: string; refreshToken: string }
}

async function passkeyNotices(api: Api, token: string) {
  const passkeys = await startPasskeyClient(api)
  await passkeys.register(token)
  const [{ id }] = (await api.get('/api/users/me/passkeys', { token })).body
  const { headers } = passkeys
  assert.equal((await api.delete(`/webauthn/register/${id}`, { token, headers })).status, 204)
}

async function factorNotices(
  { api, clock, asAdmin }: Awaited<ReturnType<typeof start>>,
  { token, password }: { token: string; password: string },
) {
  const { app } = await enrol(api, token, clock)
  const user = { ...ALICE, password }
  await secondStep(api, await firstStep(api, user), { code: app.wrong() })
  await asAdmin('DELETE', '/totp')
  const code = () => ({ code: app.next() })
  const renewed = await api.post('/api/users/me/recovery-codes', code(), { token })
  const [recoveryCode] = renewed.body.recoveryCodes
  assert.equal((await secondStep(api, await firstStep(api, user), { recoveryCode })).status, 200)
  const off = { token, headers: json, body: JSON.stringify(code()) }
  assert.equal((await api.request('DELETE', '/api/users/me/totp', off)).status, 204)
}

for (const engine of engines)
  describe(`notices on ${engine.name}`, engine.options, () => {
    const service = sharedIdentity({ engine })

    test('are sent for every kind of event', async (t) => {
      const started = await start(t, engine)
      const { api, pair, token, asAdmin } = started
      const { refreshToken } = pair
      await api.post('/api/auth/refresh', { refreshToken })
      await api.post('/api/auth/refresh', { refreshToken })
      await passkeyNotices(api, token)
      const change = { currentPassword: ALICE.password, newPassword: NEW_PASSWORD }
      await api.post('/api/users/me/password', change, { token })
      await factorNotices(started, { token, password: NEW_PASSWORD })
      await api.post('/api/users/me/export/file', undefined, { token })
      for (const newEmail of [FIRST_EMAIL, EMAIL]) {
        await api.post('/api/users/me/email', { newEmail }, { token })
        const confirmed = { token: tokenOf(await mailTo(api, newEmail, 'email-change')) }
        await api.post('/api/users/me/email/confirm', confirmed)
      }
      await asAdmin('PATCH', '', { roles: ['ROLE_USER', 'ROLE_ADMIN'] })
      const key = { name: 'reports', scopes: ['users:read'] }
      const admin = (await logIn(api, NEW_PASSWORD)).accessToken
      const made = await api.post('/api/service-keys', key, { token: admin })
      const rotate = `/api/service-keys/${made.body.id}/rotate`
      assert.equal((await api.post(rotate, {}, { token: admin })).status, 201)
      await mailTo(api, EMAIL, 'service-key-made', 2)
      await asAdmin('DELETE', '/sessions')
      started.clock.advance(10)
      await reportNow(started)
      const own = (await logIn(api, NEW_PASSWORD, FIREFOX)).accessToken
      started.clock.advance(10)
      await reportNow(started)
      await asAdmin('POST', '/require-password-change')
      await asAdmin('PATCH', '', { enabled: false })
      await asAdmin('PATCH', '', { enabled: true })
      const reset = { email: EMAIL }
      await api.post('/api/auth/password-reset', reset)
      const chosen = { token: tokenOf(await mailTo(api, EMAIL, 'password-reset')) }
      const done = { ...chosen, newPassword: 'yet another password' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', done)).status, 204)
      assert.equal((await api.get('/api/users/me', { token: own })).status, 401)
      const last = (await logIn(api, 'yet another password')).accessToken
      assert.equal((await api.delete('/api/users/me', { token: last })).status, 202)
      await asAdmin('POST', '/deletion/cancel')
      await asAdmin('DELETE', '')

      const wanted = Object.keys(en.mails).filter((kind) => !NO_NOTICE.includes(kind))
      const sent = await until(
        async () => {
          const mails = [ALICE.email, FIRST_EMAIL, EMAIL].map(async (to) => {
            const { body } = await api.get(`/api/dev/mail?to=${to}`)
            return body.map(({ kind }: { kind: string }) => kind)
          })
          return new Set((await Promise.all(mails)).flat())
        },
        (kinds) => wanted.every((kind) => kinds.has(kind)),
      )
      assert.deepEqual(
        wanted.filter((kind) => !sent.has(kind)),
        [],
      )
    })

    test('of a new browser are sent even after a sign-in while the clock was ahead', async (t) => {
      const started = await start(t, engine)
      const { api, clock } = started
      const now = clock()
      clock.advance(365 * 86_400)
      await logIn(api, ALICE.password)
      clock.set(now)
      await logIn(api, ALICE.password, FIREFOX)
      clock.advance(10)

      await reportNow(started)

      assert.match(
        (await mailTo(api, ALICE.email, 'new-browser')).text,
        /with Firefox on Linux\.$/m,
      )
    })

    test('of a new browser are sent at most once a day, and not for the first or a known one', async (t) => {
      const started = await start(t, engine)
      const { api, clock } = started
      const browsers = async () => {
        clock.advance(10)
        await reportNow(started)
        const { body } = await api.get('/api/mail?size=100', { token: await adminToken(api) })
        return body.content.filter(({ kind }: { kind: string }) => kind === 'new-browser').length
      }
      assert.equal(await browsers(), 0)
      await logIn(api, ALICE.password)
      assert.equal(await browsers(), 0)

      await logIn(api, ALICE.password, FIREFOX)
      assert.equal(await browsers(), 1)
      assert.match(
        (await mailTo(api, ALICE.email, 'new-browser')).text,
        /with Firefox on Linux\.$/m,
      )
      await logIn(api, ALICE.password, FIREFOX.replaceAll('130', '131'))
      await logIn(api, ALICE.password, EDGE)
      assert.equal(await browsers(), 1)
      clock.advance(86_400)
      await logIn(api, ALICE.password, EDGE)
      await logIn(api, ALICE.password, EDGE.replace('Edg/130.0', 'OPR/116.0'))
      assert.equal(await browsers(), 2)

      const afterADayFrom = async (address: string) => {
        clock.advance(86_400)
        await logIn(api, ALICE.password, EDGE, address)
        return browsers()
      }
      assert.equal(await afterADayFrom('192.0.2.7'), 3)
      assert.equal(await afterADayFrom('192.0.2.200'), 3, 'the same network')
      assert.equal(await afterADayFrom('2001:db8:1:2::1'), 4)
      assert.equal(await afterADayFrom('2001:db8:1:2:ffff::9'), 4, 'the same network')
    })

    test('are limited to ten of a kind per hour', async () => {
      const { api, pair } = service()
      const { refreshToken } = pair
      for (let n = 0; n < 14; n += 1) await api.post('/api/auth/refresh', { refreshToken })

      const admin = await adminToken(api)
      const { body } = await until(
        () => api.get('/api/mail?size=100', { token: admin }),
        (page) => page.body.content.every(({ state }: { state: string }) => state === 'sent'),
      )
      const kinds = body.content.map(({ kind }: { kind: string }) => kind)
      assert.equal(kinds.filter((kind: string) => kind === 'session-replayed').length, 10)
    })

    test('have a "this was not me" link that revokes everything a thief may hold', async () => {
      const { api, token, clock } = service()
      const proof = { token: tokenOf(await mailTo(api, ALICE.email, 'verify-email')) }
      assert.equal((await api.post('/api/auth/verify-email', proof)).status, 204)
      const { app } = await enrol(api, token, clock)
      const passkeys = await startPasskeyClient(api)
      await passkeys.register(token)
      const first = await mailTo(api, ALICE.email, 'second-factor-added')
      const { link, text } = await mailTo(api, ALICE.email, 'passkey-added')
      assert.match(text, /If this was not you, open this page/)
      const deny = (sent: string) => api.post('/api/auth/not-me', { token: sent })
      const tokenIn = new URL(link).hash.replace('#alarm=', '')
      assert.equal(
        (await deny(tokenOf(first))).status,
        400,
        'only the link of the newest notice works',
      )
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      const asked = tokenOf(await mailTo(api, ALICE.email, 'password-reset'))
      clock.advance(1)
      const before = await kindsTo(api, ALICE.email)
      const replies = await Promise.all(Array.from({ length: 5 }, () => deny(tokenIn)))

      const statuses = replies.map(({ status }) => status).toSorted()
      assert.deepEqual(statuses, [204, 400, 400, 400, 400])
      const expected = [...before, 'password-ended'].toSorted()
      assert.deepEqual(await kindsTo(api, ALICE.email), expected)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      assert.equal((await api.post('/api/auth/login', ALICE)).body.code, 'INVALID_CREDENTIALS')
      assert.equal((await passkeys.logIn()).status, 401)
      const reset = { token: tokenOf(await mailTo(api, ALICE.email, 'password-ended')) }
      assert.notEqual(reset.token, asked, 'it is sent in spite of the mail limit of the address')
      const confirm = (totp?: string) =>
        api.post('/api/auth/password-reset/confirm', { ...reset, newPassword: NEW_PASSWORD, totp })
      assert.equal((await confirm()).body.code, 'MFA_REQUIRED', 'the mailbox is only one factor')
      assert.equal((await confirm(app.next())).status, 204)
    })

    test("are in the language of the user's own request, otherwise in the configured language", async () => {
      const { api } = service()
      const eva = { ...ALICE, username: 'eva', email: 'eva@example.com' }
      const german = { headers: { 'accept-language': 'fr, de-AT;q=0.8, en;q=0.1' } }
      const spanish = { headers: { 'accept-language': 'es' } }
      const textOf = async (kind: string) => (await mailTo(api, eva.email, kind)).text
      const { body: user } = await api.post('/api/auth/register', eva, german)
      // Read now: a disabled account is no longer sent this mail.
      assert.match(await textOf('verify-email'), /^Hallo,/)
      const { body: pair } = await api.post('/api/auth/login', eva)
      const { accessToken: token, refreshToken } = pair

      const change = { currentPassword: eva.password, newPassword: NEW_PASSWORD }
      await api.post('/api/users/me/password', change, { token, ...spanish })
      for (let times = 0; times < 2; times += 1)
        await api.post('/api/auth/refresh', { refreshToken }, spanish)
      const admin = { token: await adminToken(api), ...spanish }
      await api.patch(`/api/users/${user.id}`, { enabled: false }, admin)

      assert.match(await textOf('password-changed'), /^Hola:/)
      assert.match(await textOf('session-replayed'), /^Hello,/)
      assert.match(await textOf('account-disabled'), /^Hello,/)
    })

    test('let the owner of an address who did not register disable the account', async () => {
      const { api } = service()
      const bob = { ...ALICE, username: 'bob', email: 'bob@example.com' }
      const registered = await api.post('/api/auth/register', bob)
      const token = (await api.post('/api/auth/login', bob)).body.accessToken
      const sent = { token: tokenOf(await mailTo(api, bob.email, 'verify-email')) }

      assert.equal((await api.post('/api/auth/not-me', sent)).status, 204)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      assert.equal((await api.post('/api/auth/login', bob)).status, 401)
      assert.equal((await api.post('/api/auth/not-me', sent)).status, 400)
      assert.equal((await api.post('/api/auth/verify-email', sent)).status, 400)
      const admin = await adminToken(api)
      await api.patch(`/api/users/${registered.body.id}`, { enabled: true }, { token: admin })
      assert.equal((await api.post('/api/auth/login', bob)).status, 200)
    })

    test('let the owner of an address who did not register use it afterwards', async () => {
      const { api, clock } = service()
      const squatter = { ...ALICE, username: 'squatter', email: 'owned@example.com' }
      const { body } = await api.post('/api/auth/register', squatter)
      const denied = tokenOf(await mailTo(api, squatter.email, 'verify-email'))
      await api.post('/api/auth/not-me', { token: denied })
      const owner = { ...squatter, username: 'owner' }
      clock.advance(60) // An address gets one mail of a kind per minute.

      const registered = await api.post('/api/auth/register', owner)

      assert.equal(registered.status, 201)
      const verify = { token: tokenOf(await mailTo(api, owner.email, 'verify-email', 2)) }
      assert.equal((await api.post('/api/auth/verify-email', verify)).status, 204)
      await api.post('/api/auth/password-reset', { email: owner.email })
      const reset = tokenOf(await mailTo(api, owner.email, 'password-reset'))
      const chosen = { token: reset, newPassword: 'another good password' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', chosen)).status, 204)
      const token = await adminToken(api)
      const kept = await api.get(`/api/users/${body.id}`, { token })
      assert.deepEqual([kept.body.username, kept.body.enabled], ['squatter', false])
      assert.match(kept.body.email, /^[0-9a-f-]{36}@unclaimed\.invalid$/)
      await api.patch(`/api/users/${body.id}`, { enabled: true }, { token })
      assert.equal((await api.post('/api/auth/login', squatter)).status, 200)
      const mails = (await api.get('/api/mail?size=100', { token })).body.content
      const toNowhere = mails.filter(({ to }: { to: string }) => to.endsWith('.invalid'))
      for (const { state } of toNowhere) assert.notEqual(state, 'sent')
    })
  })
