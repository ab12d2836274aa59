import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction, openDatabase } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import type { Api } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { openOutbox, queueMail } from '../src/mail/outbox.ts'
import { enrol } from './authenticator-app.ts'
import { commandLine } from './command-line.ts'
import { kindsTo, mailTo, tokenOf } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

const NEW_EMAIL = 'alice@new.example'

const verify = async (api: Api, body: object) => {
  const { status, body: reply } = await api.post('/api/auth/verify-email', body)
  return status === 204 ? status : [status, reply.code]
}

const isVerified = async (api: Api, token: string) =>
  (await api.get('/api/users/me/security', { token })).body.emailVerified

const INVALID = [400, 'TOKEN_INVALID']

/** The number of each status in 100 concurrent requests. */
const ONE_WINS = { 204: 1, 400: 99 }

async function statusesOf(request: () => Promise<number>): Promise<Record<string, number>> {
  const statuses = await Promise.all(Array.from({ length: 100 }, request))
  const counts = Map.groupBy(statuses, (status) => status)
  return Object.fromEntries([...counts].map(([status, { length }]) => [status, length]))
}

for (const engine of engines) {
  describe(`verification of an address on ${engine.name}`, engine.options, () => {
    test('the link in the registration mail verifies, and can be used again', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const mail = await mailTo(api, ALICE.email, 'verify-email')
      // For readers who type the code and never open the page that shows the date.
      for (const part of [mail.text, mail.html])
        assert.match(part, /was registered on January 1, 2030 at 12:00\sAM UTC\./)
      assert.equal(await isVerified(api, token), false)

      const pending = await api.post('/api/auth/verify-email/pending', { token: tokenOf(mail) })
      assert.equal(pending.body.username, 'alice')
      assert.equal(await isVerified(api, token), false)

      assert.equal(await verify(api, { token: tokenOf(mail) }), 204)
      assert.equal(await verify(api, { token: tokenOf(mail) }), 204)
      assert.equal(await isVerified(api, token), true)
    })

    test('the code verifies any number of times until it expires; a wrong one does not', async (t) => {
      const { api, token, clock } = await startWithAlice(t, { engine })
      const { code } = await mailTo(api, ALICE.email, 'verify-email')
      const wrong = code === '12345678' ? '12345679' : '12345678'

      assert.deepEqual(await verify(api, { email: ALICE.email, code: wrong }), INVALID)
      assert.deepEqual(await verify(api, { email: 'bob@example.com', code }), INVALID)
      for (let times = 0; times < 25; times += 1)
        assert.equal(await verify(api, { email: ALICE.email, code }), 204)
      assert.equal(await isVerified(api, token), true)
      assert.deepEqual(await verify(api, { email: ALICE.email, code: wrong }), INVALID)
      clock.advance(24 * 3600)
      assert.deepEqual(await verify(api, { email: ALICE.email, code }), INVALID)
    })

    test('a token from an older mail, or one older than 24 hours, is refused', async (t) => {
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
      clock.advance(24 * 3600)
      const late = await api.post('/api/auth/verify-email/resend', {}, { token: pair.accessToken })
      assert.deepEqual([late.status, late.body.code], [401, 'INVALID_ACCESS_TOKEN'])
    })
  })

  describe(`change of an address on ${engine.name}`, engine.options, () => {
    const start = async (t: Parameters<typeof startWithAlice>[0]) => {
      const started = await startWithAlice(t, { engine })
      const { api, token } = started
      const ask = (newEmail: string) => api.post('/api/users/me/email', { newEmail }, { token })
      const confirm = async (body: object) =>
        (await api.post('/api/users/me/email/confirm', body)).status
      const email = async () => (await api.get('/api/users/me', { token })).body.email
      return { ...started, ask, confirm, email }
    }

    test('takes effect once the new address confirms; the old one is notified and can undo it once', async (t) => {
      const { api, token, ask, confirm, email } = await start(t)
      assert.equal((await ask(NEW_EMAIL)).status, 202)
      const mail = await mailTo(api, NEW_EMAIL, 'email-change')
      assert.match(mail.text, /asked on January 1, 2030 at 12:00\sAM UTC .* your account\./)
      const pendingReply = () => api.post('/api/users/me/email/pending', { token: tokenOf(mail) })
      const { body: pending } = await pendingReply()
      assert.deepEqual([pending.username, pending.email], ['alice', NEW_EMAIL])
      assert.equal(Date.parse(pending.createdAt), Date.parse('2030-01-01'))
      assert.equal(await email(), ALICE.email)

      assert.deepEqual(await statusesOf(() => confirm({ token: tokenOf(mail) })), ONE_WINS)
      assert.equal(await email(), NEW_EMAIL)
      assert.equal(await isVerified(api, token), true)
      assert.equal(await confirm({ token: tokenOf(mail) }), 400)
      assert.equal((await pendingReply()).body.code, 'TOKEN_INVALID')

      const notice = await mailTo(api, ALICE.email, 'email-changed')
      const undo = async () =>
        (await api.post('/api/users/me/email/undo', { token: tokenOf(notice) })).status
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      const admin = await adminToken(api)
      await until(
        () => api.get('/api/mail?size=100', { token: admin }),
        ({ body }) => body.content.every(({ state }: { state: string }) => state !== 'queued'),
      )
      const before = await kindsTo(api, ALICE.email)
      assert.deepEqual(await statusesOf(undo), ONE_WINS)
      const expected = [...before, 'password-ended'].toSorted()
      assert.deepEqual(await kindsTo(api, ALICE.email), expected)
      assert.equal(await undo(), 400)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 401)
      // This mail is sent even though a stranger has used up the mail limit of the address.
      const reset = await mailTo(api, ALICE.email, 'password-ended')
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

    const change = async (started: Awaited<ReturnType<typeof start>>, newEmail: string) => {
      assert.equal((await started.ask(newEmail)).status, 202)
      const mail = await mailTo(started.api, newEmail, 'email-change')
      assert.equal(await started.confirm({ token: tokenOf(mail) }), 204)
    }
    const undo = async (api: Api, body: object) =>
      (await api.post('/api/users/me/email/undo', body)).status

    test('can be undone after a second change, and the first address stays reserved for 7 days', async (t) => {
      const started = await start(t)
      const { api, clock, config, email } = started
      const proof = { token: tokenOf(await mailTo(api, ALICE.email, 'verify-email')) }
      assert.equal(await verify(api, proof), 204)
      await change(started, NEW_EMAIL)
      await change(started, 'thief@example.com')

      const again = await mailTo(api, NEW_EMAIL, 'email-changed-again')
      assert.match(again.text, /thief@example\.com/)
      assert.match(again.text, /works until January 8, 2030 at /)
      assert.doesNotMatch(again.text, /#undo=/)
      const other = { username: 'thief', email: ALICE.email, password: 'correct horse battery' }
      const taken = await api.post('/api/auth/register', other)
      assert.deepEqual([taken.status, taken.body.code], [409, 'EMAIL_ALREADY_EXISTS'])
      const run = commandLine(config.databaseUrl)
      await assert.rejects(run('user', 'create', 'thief', ALICE.email), /already exists/)
      const notice = await mailTo(api, ALICE.email, 'email-changed')
      assert.equal(await undo(api, { token: tokenOf(notice) }), 204)
      const reset = await mailTo(api, ALICE.email, 'password-ended')
      const body = { token: tokenOf(reset), newPassword: 'a password of my own' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', body)).status, 204)

      const back = { username: ALICE.username, password: body.newPassword }
      const { body: pair } = await api.post('/api/auth/login', back)
      assert.equal(
        (await api.get('/api/users/me', { token: pair.accessToken })).body.email,
        ALICE.email,
      )
      assert.equal(await email(), undefined)
      clock.advance(61)
      const own = { token: pair.accessToken as string }
      await api.post('/api/users/me/email', { newEmail: NEW_EMAIL }, own)
      const mail = await mailTo(api, NEW_EMAIL, 'email-change', 2)
      assert.equal(await started.confirm({ token: tokenOf(mail) }), 204)
      await mailTo(api, ALICE.email, 'email-changed', 2)
      clock.advance(7 * 24 * 3600)
      assert.equal((await api.post('/api/auth/register', other)).status, 201)
    })

    test('an undo to an unverified address removes the passkeys and second factor of the registrant', async (t) => {
      const started = await start(t)
      const { api, token, clock } = started
      const passkeys = await startPasskeyClient(api)
      assert.equal((await passkeys.register(token)).status, 200)
      await enrol(api, token, clock)
      await change(started, 'thief@example.com')

      const notice = await mailTo(api, ALICE.email, 'email-changed')
      assert.equal(await undo(api, { token: tokenOf(notice) }), 204)

      const reset = await mailTo(api, ALICE.email, 'password-ended')
      const body = { token: tokenOf(reset), newPassword: 'a password of my own' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', body)).status, 204)
      const own = { username: ALICE.username, password: body.newPassword }
      assert.equal((await api.post('/api/auth/login', own)).status, 200)
      assert.equal((await passkeys.logIn()).status, 401)
    })

    test('an unverified address is free as soon as the account has moved to another', async (t) => {
      const started = await start(t)
      const { api } = started
      await change(started, 'thief@example.com')

      const owner = { username: 'owner', email: ALICE.email, password: 'correct horse battery' }
      assert.equal((await api.post('/api/auth/register', owner)).status, 201)

      const notice = await mailTo(api, ALICE.email, 'email-changed')
      const late = await api.post('/api/users/me/email/undo', { token: tokenOf(notice) })
      assert.deepEqual([late.status, late.body.code], [409, 'EMAIL_ALREADY_EXISTS'])
      assert.equal((await api.post('/api/auth/login', owner)).status, 200)
    })

    test('"this was not me" in an earlier notice undoes the change as well', async (t) => {
      const started = await start(t)
      const { api, token } = started
      await api.post('/api/users/me/export/file', undefined, { token })
      const notice = await mailTo(api, ALICE.email, 'data-exported')
      await change(started, NEW_EMAIL)
      await api.post('/api/users/me/export/file', undefined, { token })
      await change(started, 'thief@example.com')

      const answer = () => api.post('/api/auth/not-me', { token: tokenOf(notice) })
      assert.equal((await answer()).status, 204)
      assert.equal((await answer()).status, 400)
      await mailTo(api, ALICE.email, 'password-ended')
      const { body } = await api.get('/api/users?q=alice', { token: await adminToken(api) })
      assert.equal(body.content[0].email, ALICE.email)
    })

    test('an undo cancels the deletion that a thief requested', async (t) => {
      const started = await start(t)
      const { api, token } = started
      await change(started, NEW_EMAIL)
      assert.equal((await api.request('DELETE', '/api/users/me', { token })).status, 202)

      const notice = await mailTo(api, ALICE.email, 'email-changed')
      assert.equal(await undo(api, { token: tokenOf(notice) }), 204)

      await mailTo(api, ALICE.email, 'deletion-cancelled')
      const reset = await mailTo(api, ALICE.email, 'password-ended')
      const body = { token: tokenOf(reset), newPassword: 'a password of my own' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', body)).status, 204)
      const back = { username: ALICE.username, password: body.newPassword }
      assert.equal((await api.post('/api/auth/login', back)).status, 200)
    })

    test('a queued mail is withdrawn when the password changes', async (t) => {
      const { api, token, userId, config, clock } = await start(t)
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      const waiting = {
        kind: 'email-change',
        to: NEW_EMAIL,
        userId,
        lifetimeSeconds: 3600,
      } as const
      const origin = { address: '::1', userAgent: null, requestId: null }
      const claimedUntil = secondsAfter(clock(), 60).toISOString()
      await inTransaction(db, async (inside) => {
        await queueMail(openOutbox(db, clock, config), inside, waiting, origin)
        const claim = { lease_until: claimedUntil, next_attempt_at: claimedUntil }
        await inside
          .updateTable('mail_outbox')
          .set(claim)
          .where('address', '=', NEW_EMAIL)
          .execute()
      })
      const admin = await adminToken(api)
      const queued = async () => {
        const { body } = await api.get('/api/mail?size=100', { token: admin })
        return body.content.filter(({ kind }: { kind: string }) => kind === 'email-change').length
      }
      assert.equal(await queued(), 1)

      const change = { currentPassword: ALICE.password, newPassword: 'a password of my own' }
      assert.equal((await api.post('/api/users/me/password', change, { token })).status, 204)

      assert.equal(await queued(), 0)
    })

    test("another account's address gets the same reply, and its owner gets a mail", async (t) => {
      const { api, token, email } = await start(t)
      const german = { token, headers: { 'accept-language': 'de' } }
      const ask = (newEmail: string) => api.post('/api/users/me/email', { newEmail }, german)
      const free = await ask('free@example.com')
      const taken = await ask('admin@example.com')

      assert.deepEqual([taken.status, taken.body], [free.status, free.body])
      const mail = await mailTo(api, 'admin@example.com', 'email-taken')
      assert.equal(mail.code, null)
      assert.match(mail.text, /^Hello,/)
      assert.match((await mailTo(api, 'free@example.com', 'email-change')).text, /^Hallo,/)
      assert.equal(await email(), ALICE.email)
    })

    test('a code still works after another account has requested the same address', async (t) => {
      const { api, clock, ask, confirm, email } = await start(t)
      const bob = { ...ALICE, username: 'bob', email: 'bob@example.com' }
      await api.post('/api/auth/register', bob)
      const { body: pair } = await api.post('/api/auth/login', bob)
      await ask(NEW_EMAIL)
      const { code } = await mailTo(api, NEW_EMAIL, 'email-change')
      clock.advance(61)
      const { accessToken } = pair
      await api.post('/api/users/me/email', { newEmail: NEW_EMAIL }, { token: accessToken })
      const { code: other } = await mailTo(api, NEW_EMAIL, 'email-change', 2)

      assert.equal(await confirm({ email: NEW_EMAIL, code }), 204)
      assert.equal(await email(), NEW_EMAIL)
      assert.equal(await confirm({ email: NEW_EMAIL, code: other }), 409)
    })

    test('answers 409 and keeps the old address when the new one was taken in the meantime', async (t) => {
      const { api, ask, confirm, email } = await start(t)
      await ask(NEW_EMAIL)
      const mail = await mailTo(api, NEW_EMAIL, 'email-change')
      const other = { username: 'bob', email: NEW_EMAIL, password: 'correct horse battery' }
      assert.equal((await api.post('/api/auth/register', other)).status, 201)

      assert.equal(await confirm({ token: tokenOf(mail) }), 409)
      assert.equal(await email(), ALICE.email)
    })

    test('invalidates a reset mail to the old address', async (t) => {
      const { api, ask, confirm } = await start(t)
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      const reset = await mailTo(api, ALICE.email, 'password-reset')
      await ask(NEW_EMAIL)
      await confirm({ token: tokenOf(await mailTo(api, NEW_EMAIL, 'email-change')) })

      const body = { token: tokenOf(reset), newPassword: 'a password of my own' }
      assert.equal((await api.post('/api/auth/password-reset/confirm', body)).status, 400)
    })

    test('requires an access token and a different address', async (t) => {
      const { api, ask } = await start(t)
      const anonymous = await api.post('/api/users/me/email', { newEmail: NEW_EMAIL })
      assert.equal(anonymous.status, 401)
      assert.deepEqual((await ask(ALICE.email)).body.errors, ['newEmail: is your address already'])
      // Each of these letters becomes two in lower case.
      const { body } = await ask(`${'İ'.repeat(250)}@x`)
      assert.deepEqual(body.errors, ['newEmail: must have at most 254 characters'])
    })
  })
}
