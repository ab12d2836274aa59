import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Api, engines } from '@plinth/kit/testing'
import { mailTo, tokenOf } from './inbox.ts'
import { ALICE, startWithAlice } from './start-identity.ts'

const NEW_EMAIL = 'alice@new.example'

const verify = async (api: Api, body: object) => {
  const { status, body: reply } = await api.post('/api/auth/verify-email', body)
  return status === 204 ? status : [status, reply.code]
}

const isVerified = async (api: Api, token: string) =>
  (await api.get('/api/users/me/security', { token })).body.emailVerified

const INVALID = [400, 'TOKEN_INVALID']

for (const engine of engines) {
  describe(`verification of an address on ${engine.name}`, { skip: engine.skip }, () => {
    test('the mail of the registration verifies by link, and again by the same link', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const mail = await mailTo(api, ALICE.email, 'verify-email')
      assert.equal(await isVerified(api, token), false)

      const pending = await api.post('/api/auth/verify-email/pending', { token: tokenOf(mail) })
      assert.equal(pending.body.username, 'alice')
      assert.equal(await isVerified(api, token), false)

      assert.equal(await verify(api, { token: tokenOf(mail) }), 204)
      assert.equal(await verify(api, { token: tokenOf(mail) }), 204)
      assert.equal(await isVerified(api, token), true)
    })

    test('the code verifies, and a wrong one does not', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const { code } = await mailTo(api, ALICE.email, 'verify-email')
      const wrong = code === '12345678' ? '12345679' : '12345678'

      assert.deepEqual(await verify(api, { email: ALICE.email, code: wrong }), INVALID)
      assert.deepEqual(await verify(api, { email: 'bob@example.com', code }), INVALID)
      assert.equal(await verify(api, { email: ALICE.email, code }), 204)
      assert.equal(await isVerified(api, token), true)
    })

    test('a token of an older mail, or one past 24 hours, is refused', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const first = await mailTo(api, ALICE.email, 'verify-email')
      clock.advance(61)
      const asked = await api.post('/api/auth/verify-email/resend', { email: ALICE.email })
      assert.equal(asked.status, 202)
      const second = await mailTo(api, ALICE.email, 'verify-email', 2)
      const anonymous = await api.post('/api/auth/verify-email/resend')
      assert.deepEqual(anonymous.body.errors, ['email: is required, or an access token'])

      assert.deepEqual(await verify(api, { token: tokenOf(first) }), INVALID)
      clock.advance(24 * 3600)
      assert.deepEqual(await verify(api, { token: tokenOf(second) }), INVALID)

      const { body: pair } = await api.post('/api/auth/login', ALICE)
      const own = await api.post('/api/auth/verify-email/resend', {}, { token: pair.accessToken })
      assert.equal(own.status, 202)
      const third = await mailTo(api, ALICE.email, 'verify-email', 3)
      assert.equal(await verify(api, { token: tokenOf(third) }), 204)
    })
  })

  describe(`change of an address on ${engine.name}`, { skip: engine.skip }, () => {
    const start = async (t: Parameters<typeof startWithAlice>[0]) => {
      const started = await startWithAlice(t, { engine })
      const { api, token } = started
      const ask = (newEmail: string) => api.post('/api/users/me/email', { newEmail }, { token })
      const confirm = async (body: object) =>
        (await api.post('/api/users/me/email/confirm', body)).status
      const email = async () => (await api.get('/api/users/me', { token })).body.email
      return { ...started, ask, confirm, email }
    }

    test('happens when the new address confirms it; the old one is told and can undo it', async (t) => {
      const { api, token, ask, confirm, email } = await start(t)
      assert.equal((await ask(NEW_EMAIL)).status, 202)
      const mail = await mailTo(api, NEW_EMAIL, 'email-change')
      assert.equal(await email(), ALICE.email)

      assert.equal(await confirm({ token: tokenOf(mail) }), 204)
      assert.equal(await email(), NEW_EMAIL)
      assert.equal(await isVerified(api, token), true)
      assert.equal(await confirm({ token: tokenOf(mail) }), 400)

      const notice = await mailTo(api, ALICE.email, 'email-changed')
      const undo = () => api.post('/api/users/me/email/undo', { token: tokenOf(notice) })
      assert.equal((await undo()).status, 204)
      assert.equal((await undo()).status, 400)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 401)
      const reset = await mailTo(api, ALICE.email, 'password-reset')
      const body = { token: tokenOf(reset), newPassword: 'a password of my own' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', body)).status, 204)
    })

    test('an undo works after the thief has changed the password', async (t) => {
      const { api, token, ask, confirm } = await start(t)
      await ask(NEW_EMAIL)
      await confirm({ token: tokenOf(await mailTo(api, NEW_EMAIL, 'email-change')) })
      const change = { currentPassword: ALICE.password, newPassword: 'the password of a thief' }
      assert.equal((await api.post('/api/users/me/password', change, { token })).status, 204)

      const notice = await mailTo(api, ALICE.email, 'email-changed')
      const undone = await api.post('/api/users/me/email/undo', { token: tokenOf(notice) })
      assert.equal(undone.status, 204)
      const thief = { username: 'alice', password: 'the password of a thief' }
      assert.equal((await api.post('/api/auth/login', thief)).status, 401)
    })

    test('an address of another account gets the same reply, and its owner a mail', async (t) => {
      const { api, ask, email } = await start(t)
      const free = await ask('free@example.com')
      const taken = await ask('admin@example.com')

      assert.deepEqual([taken.status, taken.body], [free.status, free.body])
      const mail = await mailTo(api, 'admin@example.com', 'email-taken')
      assert.equal(mail.code, null)
      assert.equal(await email(), ALICE.email)
    })

    test('an address that was taken meanwhile is 409, and the old one stays', async (t) => {
      const { api, ask, confirm, email } = await start(t)
      await ask(NEW_EMAIL)
      const mail = await mailTo(api, NEW_EMAIL, 'email-change')
      const other = { username: 'bob', email: NEW_EMAIL, password: 'correct horse battery' }
      assert.equal((await api.post('/api/auth/register', other)).status, 201)

      assert.equal(await confirm({ token: tokenOf(mail) }), 409)
      assert.equal(await email(), ALICE.email)
    })

    test('makes a reset mail to the old address void', async (t) => {
      const { api, ask, confirm } = await start(t)
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      const reset = await mailTo(api, ALICE.email, 'password-reset')
      await ask(NEW_EMAIL)
      await confirm({ token: tokenOf(await mailTo(api, NEW_EMAIL, 'email-change')) })

      const body = { token: tokenOf(reset), newPassword: 'a password of my own' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', body)).status, 400)
    })

    test('needs a token of the user, and another address', async (t) => {
      const { api, ask } = await start(t)
      const anonymous = await api.post('/api/users/me/email', { newEmail: NEW_EMAIL })
      assert.equal(anonymous.status, 401)
      assert.deepEqual((await ask(ALICE.email)).body.errors, ['newEmail: is your address already'])
    })
  })
}
