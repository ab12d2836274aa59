import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import type { Api, TestEngine } from '@plinth/kit/testing'
import { decodeJwt } from 'jose'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { enrol } from './authenticator-app.ts'
import { obtainTokens, refreshWith, registerClient } from './browser.ts'
import { kindsTo, mailTo, tokenOf } from './inbox.ts'
import {
  ALICE,
  adminToken,
  bothEngines,
  engines,
  startIdentity,
  startWithAlice,
} from './start-identity.ts'

const ON = { IDENTITY_SIGN_IN_CODE: 'true' }
const KIND = 'sign-in-code'

const ask = (api: Api, email = ALICE.email, options = {}) =>
  api.post('/api/auth/code', { email }, options)

const confirm = (api: Api, requestToken: string, code: string) =>
  api.post('/api/auth/code/confirm', { requestToken, code })

/** Asks for a code and waits for its mail. */
async function askAndRead(api: Api, email = ALICE.email, count = 1) {
  const { body } = await ask(api, email)
  const { code } = await mailTo(api, email, KIND, count)
  return { requestToken: body.requestToken as string, code }
}

/** Another code of the same form. */
const wrong = (code: string) => code.replace(/^\d/, (first) => String((Number(first) + 1) % 10))

async function verifyAlice(api: Api) {
  const token = tokenOf(await mailTo(api, ALICE.email, 'verify-email'))
  assert.equal((await api.post('/api/auth/verify-email', { token })).status, 204)
}

async function start(t: TestContext, engine: TestEngine, env: Record<string, string> = {}) {
  const started = await startWithAlice(t, { engine, env: { ...ON, ...env } })
  await verifyAlice(started.api)
  return started
}

/** Waits until no mail is queued. */
async function settled(api: Api): Promise<void> {
  const token = await adminToken(api)
  await until(
    () => api.get('/api/mail?size=1000', { token }),
    ({ body }) => body.content.every(({ state }: { state: string }) => state !== 'queued'),
  )
}

for (const engine of engines) {
  describe(`a mailed code to sign in on ${engine.name}`, engine.options, () => {
    test('opens a session whose amr is mail, once', async (t) => {
      const { api } = await start(t, engine)
      const { requestToken, code } = await askAndRead(api)

      const { status, body } = await confirm(api, requestToken, code)
      const again = await confirm(api, requestToken, code)

      assert.equal(status, 200)
      assert.deepEqual(decodeJwt(body.accessToken).amr, ['mail'])
      assert.equal((await api.get('/api/users/me', { token: body.accessToken })).status, 200)
      assert.deepEqual([again.status, again.body.code], [401, 'INVALID_CODE'])
    })

    test('has eight digits, which may be typed with a dash, and its mail has no link', async (t) => {
      const { api } = await start(t, engine)
      const { body } = await ask(api)
      const { code, link, text } = await mailTo(api, ALICE.email, KIND)

      assert.match(code, /^\d{8}$/)
      assert.equal(link, null)
      assert.doesNotMatch(text, /https?:/)
      const typed = `${code.slice(0, 4)}-${code.slice(4)}`
      assert.equal((await confirm(api, body.requestToken, typed)).status, 200)
    })

    test('is off by default', async (t) => {
      const { api } = await startWithAlice(t, { engine })

      const replies = [await ask(api), await confirm(api, 'token', '12345678')]

      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [403, 'SIGN_IN_CODE_DISABLED'])
    })

    test('needs a mail server', async (t) => {
      const env = { ...ON, IDENTITY_DEVELOPMENT_MAIL: 'false' }
      const { api } = await startIdentity(t, { engine, env })

      const { status, body } = await ask(api)

      assert.deepEqual([status, body.code], [503, 'MAIL_NOT_CONFIGURED'])
    })

    test('works for ten minutes', async (t) => {
      const { api, clock } = await start(t, engine)
      const { requestToken, code } = await askAndRead(api)

      clock.advance(10 * 60)

      const { status, body } = await confirm(api, requestToken, code)
      assert.deepEqual([status, body.code], [401, 'INVALID_CODE'])
    })

    test('asks for the second factor like a password', async (t) => {
      const { api, token, clock } = await start(t, engine)
      const { app } = await enrol(api, token, clock)
      const { requestToken, code } = await askAndRead(api)

      const { status, body } = await confirm(api, requestToken, code)
      const done = await api.post('/api/auth/mfa', { mfaToken: body.mfaToken, code: app.next() })

      assert.deepEqual([status, body.code], [401, 'MFA_REQUIRED'])
      assert.equal(done.status, 200)
      assert.deepEqual(decodeJwt(done.body.accessToken).amr, ['mail', 'otp', 'mfa'])
    })

    test('says how to keep an account that is about to be erased', async (t) => {
      const { api, token } = await start(t, engine)
      await api.delete('/api/users/me', { token })
      const { requestToken, code } = await askAndRead(api)

      const { status, body } = await confirm(api, requestToken, code)

      assert.deepEqual([status, body.code], [401, 'DELETION_PENDING'])
      const kept = await api.post('/api/users/me/deletion/cancel', { token: body.token })
      assert.equal(kept.status, 204)
    })

    test('works without a new password where one is required at the next password login', async (t) => {
      const { api, userId } = await start(t, engine)
      const admin = await adminToken(api)
      const expired = await api.post(
        `/api/users/${userId}/require-password-change`,
        { reason: 'test' },
        { token: admin },
      )
      assert.equal(expired.status, 204)
      const { requestToken, code } = await askAndRead(api)

      assert.equal((await confirm(api, requestToken, code)).status, 200)
    })

    test('is recorded in the audit, wrong ones too', async (t) => {
      const { api } = await start(t, engine)
      const { requestToken, code } = await askAndRead(api)
      await confirm(api, requestToken, wrong(code))
      await confirm(api, requestToken, code)

      const { body } = await api.get('/api/audit?event=SIGN_IN_CODE_USED', {
        token: await adminToken(api),
      })

      const seen = body.content.map((row: Record<string, string>) => [row.subject, row.result])
      assert.deepEqual(seen, [
        [ALICE.username, 'SUCCESS'],
        [ALICE.username, 'REFUSED'],
      ])
    })

    test('is not mailed to a disabled user', async (t) => {
      const { api, userId } = await start(t, engine)
      const token = await adminToken(api)
      await api.patch(`/api/users/${userId}`, { enabled: false }, { token })

      const { status, body } = await ask(api)
      await settled(api)

      assert.equal(status, 202)
      assert.ok(!(await kindsTo(api, ALICE.email)).includes(KIND))
      assert.equal((await confirm(api, body.requestToken, '12345678')).status, 401)
    })
  })

  describe(`attacks on mailed codes on ${engine.name}`, engine.options, () => {
    test('enumeration: an unknown address gets the same replies and no mail', async (t) => {
      const { api } = await start(t, engine)

      const known = await ask(api)
      const unknown = await ask(api, 'stranger@example.com')
      await settled(api)
      const guesses = [known, unknown].map(({ body }) =>
        confirm(api, body.requestToken, '00000000'),
      )

      assert.deepEqual([known.status, unknown.status], [202, 202])
      assert.deepEqual(Object.keys(unknown.body), ['message', 'requestToken'])
      assert.equal(unknown.body.message, known.body.message)
      assert.equal(unknown.body.requestToken.length, known.body.requestToken.length)
      const [one, other] = (await Promise.all(guesses)).map(({ status, body }) => {
        const { requestId: _, ...rest } = body
        return { status, ...rest }
      })
      assert.deepEqual(one, other)
      assert.deepEqual(await kindsTo(api, 'stranger@example.com'), [])
    })

    test('guessing: the sixth try of a code fails even if it is right', async (t) => {
      const { api } = await start(t, engine)
      const { requestToken, code } = await askAndRead(api)

      for (let tries = 0; tries < 5; tries += 1)
        assert.equal((await confirm(api, requestToken, wrong(code))).status, 401)

      assert.equal((await confirm(api, requestToken, code)).status, 401)
    })

    test('guessing: twenty wrong codes end this way in for the address for a day, and no other', async (t) => {
      const { api, clock } = await start(t, engine)
      for (let mails = 1; mails <= 4; mails += 1) {
        const { requestToken, code } = await askAndRead(api, ALICE.email, mails)
        for (let tries = 0; tries < 5; tries += 1) await confirm(api, requestToken, wrong(code))
        clock.advance(61)
      }
      const closed = await askAndRead(api, ALICE.email, 5)
      assert.equal((await confirm(api, closed.requestToken, closed.code)).status, 401)

      assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      const { code } = await mailTo(api, ALICE.email, 'password-reset')
      const reset = { email: ALICE.email, code, newPassword: 'another good password' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', reset)).status, 204)
      clock.advance(24 * 60 * 60)
      const open = await askAndRead(api, ALICE.email, 6)
      assert.equal((await confirm(api, open.requestToken, open.code)).status, 200)
    })

    test('guessing of other codes does not end this way in', async (t) => {
      const { api } = await start(t, engine)
      const guess = { email: ALICE.email, code: '00000000', newPassword: 'another good password' }
      for (let tries = 0; tries < 21; tries += 1)
        await api.post('/api/auth/password-reset/confirm', guess)

      const { requestToken, code } = await askAndRead(api)

      assert.equal((await confirm(api, requestToken, code)).status, 200)
    })

    test('wrong browser: the code does not work with the token of another request', async (t) => {
      const { api } = await start(t, engine)
      const { requestToken, code } = await askAndRead(api)
      const stranger = await ask(api)

      const stolen = await confirm(api, stranger.body.requestToken, code)

      assert.deepEqual([stolen.status, stolen.body.code], [401, 'INVALID_CODE'])
      assert.equal((await confirm(api, 'made-up', code)).status, 401)
      assert.equal((await confirm(api, requestToken, code)).status, 200)
    })

    test('only the newest mailed code works; a request without a mail replaces none', async (t) => {
      const { api, clock } = await start(t, engine)
      const first = await askAndRead(api)
      await ask(api)
      await settled(api)
      clock.advance(61)
      const second = await askAndRead(api, ALICE.email, 2)

      assert.equal((await confirm(api, first.requestToken, first.code)).status, 401)
      assert.equal((await confirm(api, second.requestToken, second.code)).status, 200)
    })

    test('pre-hijack: the first proof of an address ends all that was set up before it', async (t) => {
      const { api, token, clock, pair } = await startWithAlice(t, { engine, env: ON })
      const client = await registerClient(api)
      const { refresh_token } = await obtainTokens(api, client)
      await enrol(api, token, clock)
      const { requestToken, code } = await askAndRead(api)

      const { status, body } = await confirm(api, requestToken, code)

      assert.equal(status, 200)
      const own = { token: body.accessToken as string }
      const { body: security } = await api.get('/api/users/me/security', own)
      assert.deepEqual([security.emailVerified, security.secondFactor], [true, false])
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 401)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      const refreshed = await api.post('/api/auth/refresh', { refreshToken: pair.refreshToken })
      assert.equal(refreshed.status, 401)
      assert.deepEqual((await api.get('/api/users/me/grants', own)).body, [])
      const ofClient = await refreshWith(api, client, refresh_token)
      assert.equal(ofClient.body.error, 'invalid_grant')
      const { text } = await mailTo(api, ALICE.email, 'account-emptied')
      assert.doesNotMatch(text, /alice[^@]/)
    })

    test('pre-hijack: a later code leaves the account as it is', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine, env: ON })
      const first = await askAndRead(api)
      await confirm(api, first.requestToken, first.code)
      clock.advance(61)
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      const token = tokenOf(await mailTo(api, ALICE.email, 'password-reset'))
      const { status } = await api.post('/api/auth/password-reset/confirm', {
        token,
        newPassword: ALICE.password,
      })
      assert.equal(status, 204)

      const second = await askAndRead(api, ALICE.email, 2)
      assert.equal((await confirm(api, second.requestToken, second.code)).status, 200)

      assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)
    })

    test('flood: codes use up no mails of password resets', async (t) => {
      const { api, config } = await start(t, engine)
      await askAndRead(api)
      const opened = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
      await opened.db
        .updateTable('failed_attempts')
        .set({ failures: 500 })
        .where('attempt', 'like', `mail of everybody ${KIND}%`)
        .execute()
      await opened.close()

      await api.post('/api/auth/password-reset', { email: ALICE.email })

      assert.ok(await mailTo(api, ALICE.email, 'password-reset'))
    })
  })
}

for (const engine of bothEngines)
  describe(`races for a mailed code on ${engine.name}`, engine.options, () => {
    test('one of several concurrent uses of a code opens a session', async (t) => {
      const { api } = await startWithAlice(t, { engine, env: ON })
      const { requestToken, code } = await askAndRead(api)

      const replies = await Promise.all(
        Array.from({ length: 5 }, () => confirm(api, requestToken, code)),
      )

      assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 401, 401, 401, 401])
    })
  })
