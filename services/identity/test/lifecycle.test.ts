import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { openAccounts } from '@plinth/accounts'
import { cheapHashing } from '@plinth/accounts/testing'
import { type Db, openDatabase } from '@plinth/kit/database'
import { createLogger } from '@plinth/kit/logging'
import type { Clock } from '@plinth/kit/runtime'
import { type Api, type ApiReply, spawnService, testClock } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { loadConfig } from '../src/app.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { eraseDue } from '../src/deletion/deletion.ts'
import { openOutbox } from '../src/mail/outbox.ts'
import { enrol, firstStep, secondStep } from './authenticator-app.ts'
import { commandLine } from './command-line.ts'
import { mailTo, startSmtpServer, tokenOf } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import {
  ADMIN,
  ALICE,
  adminToken,
  engines,
  MASTER_KEY,
  startIdentity,
  startWithAlice,
} from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const DAY = 86_400
const REASON = { reason: 'asked for by phone' }
const NEW_PASSWORD = 'an entirely new password'

const remove = (api: Api, path: string, token: string, value?: object) =>
  api.request('DELETE', path, {
    token,
    ...(value && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(value),
    }),
  })

const logIn = (api: Api, user: object = ALICE) => api.post('/api/auth/login', user)

type Config = ReturnType<typeof loadConfig>

/** Runs the erasure job once with the clock of the test; returns which users are left in which tables. */
async function eraseNow({ config, clock }: { config: Config; clock: Clock }) {
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  const accounts = await openAccounts(db, config.accounts, {
    clock,
    log: createLogger('test', 'silent'),
  })
  const outbox = openOutbox(db, clock, config)
  await eraseDue({ accounts, outbox }, new AbortController().signal)
  const left = await tablesAbout(db, config.databaseUrl)
  await accounts.close()
  await close()
  return left
}

/** The user ids that occur in each table with a `user_id` column. */
async function tablesAbout(db: Db<IdentityTables>, url: string): Promise<Record<string, number[]>> {
  const named = url.startsWith('postgres')
    ? sql<{ name: string }>`select table_name as name from information_schema.columns
        where column_name = 'user_id' and table_schema = current_schema()`
    : sql<{ name: string }>`select m.name from sqlite_master m, pragma_table_info(m.name) c
        where m.type = 'table' and c.name = 'user_id'`
  const { rows: tables } = await named.execute(db)
  const found: Record<string, number[]> = {}
  for (const { name } of tables) {
    const { rows } = await sql<{ id: number }>`
      select distinct user_id as id from ${sql.table(name)} where user_id is not null`.execute(db)
    found[name] = rows.map(({ id }) => Number(id))
  }
  return found
}

/** Registers an account and gives it a name that could be chosen before such names were reserved. */
async function registerAs({ api, config }: { api: Api; config: Config }, username: string) {
  const impostor = { ...ALICE, username: 'impostor', email: 'impostor@example.com' }
  const { body } = await api.post('/api/auth/register', impostor)
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  await db.updateTable('users').set({ username }).where('id', '=', body.id).execute()
  await close()
  return { ...impostor, username }
}

const audited = async (api: Api, query: string) => {
  const { body } = await api.get(`/api/audit?${query}`, { token: await adminToken(api) })
  type Row = { event: string; actor: string; subject: string; reason?: string }
  return (body.content as Row[]).map(({ event, actor, subject, reason }) =>
    [event, actor, subject, reason].filter((part) => part !== undefined && part !== null),
  )
}

for (const engine of engines) {
  describe(`administration of accounts on ${engine.name}`, engine.options, () => {
    test('the owner of an account that an administrator created sets its password', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const grace = { username: 'Grace', email: 'grace@example.com', roles: ['ROLE_USER'] }

      const made = await api.post('/api/users', { ...grace, ...REASON }, { token })

      assert.deepEqual([made.status, made.body.username], [201, 'grace'])
      const mail = await mailTo(api, grace.email, 'invitation')
      // A password reset requested by a stranger must not invalidate the invitation.
      await api.post('/api/auth/password-reset', { email: grace.email })
      await mailTo(api, grace.email, 'password-reset')
      clock.advance(23 * 3600)
      const proof = { token: tokenOf(mail), newPassword: NEW_PASSWORD }
      assert.equal((await api.post('/api/auth/password-reset/confirm', proof)).status, 204)
      assert.equal((await logIn(api, { ...grace, password: NEW_PASSWORD })).status, 200)
      const admin = { token: await adminToken(api) }
      const { body } = await api.get(`/api/users/${made.body.id}`, admin)
      assert.equal(body.emailVerified, true)
      assert.deepEqual(await audited(api, 'event=USER_CREATED'), [
        ['USER_CREATED', 'admin', 'grace', REASON.reason],
      ])
      const again = await api.post('/api/users', grace, admin)
      assert.equal(again.body.code, 'USERNAME_ALREADY_EXISTS')
      assert.equal((await api.post('/api/users', grace)).status, 401)
    })

    test('a login must set a new password when an administrator requires it', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      const path = `/api/users/${userId}/require-password-change`
      assert.equal((await api.post(path, {}, { token: admin })).status, 400)

      assert.equal((await api.post(path, REASON, { token: admin })).status, 204)

      assert.equal((await api.get('/api/users/me', { token })).status, 200)
      assert.equal(
        (await logIn(api, { ...ALICE, password: 'wrong' })).body.code,
        'INVALID_CREDENTIALS',
      )
      const logins = await Promise.all([1, 2, 3, 4].map(() => logIn(api)))
      for (const { status, body } of logins)
        assert.deepEqual([status, body.code], [401, 'PASSWORD_CHANGE_REQUIRED'])
      const refused = await logIn(api)
      const chosen = { token: refused.body.token, newPassword: NEW_PASSWORD }
      const same = { ...chosen, newPassword: ALICE.password }
      const unchanged = await api.post('/api/auth/password-reset/confirm', same)
      const errors = ['newPassword: must not be the current password']
      assert.deepEqual([unchanged.status, unchanged.body.errors], [400, errors])
      const change = { currentPassword: ALICE.password, newPassword: ALICE.password }
      const own = await api.post('/api/users/me/password', change, { token })
      assert.deepEqual([own.status, own.body.errors], [400, errors])
      assert.equal((await api.post('/api/auth/password-reset/confirm', chosen)).status, 204)
      assert.equal((await api.post('/api/auth/password-reset/confirm', chosen)).status, 400)
      const signedIn = await logIn(api, { ...ALICE, password: NEW_PASSWORD })
      assert.equal(signedIn.status, 200)
      const details = await api.get(`/api/users/${userId}`, { token: admin })
      assert.deepEqual(
        [details.body.passwordChangeRequired, details.body.emailVerified],
        [false, false],
      )
      await mailTo(api, ALICE.email, 'password-change-required')
    })

    test('a required new password is not the old one in another encoding', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })
      const admin = { token: await adminToken(api) }
      await api.post(`/api/users/${userId}/require-password-change`, REASON, admin)
      const fullWidth = ALICE.password.replace('c', '\uff43')
      const change = { currentPassword: ALICE.password, newPassword: fullWidth }

      const { status, body } = await api.post('/api/users/me/password', change, { token })

      const errors = ['newPassword: must not be the current password']
      assert.deepEqual([status, body.errors], [400, errors])
    })

    test('a reason may have several lines, but no other control characters', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const path = `/api/users/${userId}`
      const errors = [
        'reason: must not be blank or contain control characters other than tabs and line breaks',
      ]

      for (const reason of ['', ' \n ', 'a\u0000b', 'a\u007fb', 'a\ud800b'])
        for (const reply of [
          await api.patch(path, { enabled: true, reason }, { token }),
          await api.post(`${path}/require-password-change`, { reason }, { token }),
        ])
          assert.deepEqual([reply.status, reply.body.errors], [400, errors], JSON.stringify(reason))

      const reason = 'asked for by phone\r\n\tat noon \u{1f600}'
      assert.equal((await api.patch(path, { enabled: false, reason }, { token })).status, 200)
      assert.deepEqual(await audited(api, 'event=USER_DISABLED'), [
        ['USER_DISABLED', 'admin', 'alice', reason],
      ])
    })

    test('notifies the user by mail when others change the account', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)

      await remove(api, `/api/users/${userId}/sessions`, token, REASON)
      await api.patch(`/api/users/${userId}`, { enabled: false, ...REASON }, { token })
      await api.patch(`/api/users/${userId}`, { enabled: true, ...REASON }, { token })

      for (const kind of ['sessions-ended', 'account-disabled', 'account-enabled']) {
        const { text } = await mailTo(api, ALICE.email, kind)
        assert.match(text, /by an administrator\./)
        assert.doesNotMatch(text, /127\.0\.0\.1/)
      }
      const rows = await audited(api, 'user=admin&event=SESSION_REVOKED')
      assert.deepEqual(rows, [['SESSION_REVOKED', 'admin', 'alice', REASON.reason]])
    })

    test('an administrator can resend the verification mail, and is told when no mail can be sent', async (t) => {
      const { api, clock, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const post = async (id: number, path: string, body: object = REASON) => {
        const reply = await api.post(`/api/users/${id}/${path}`, body, { token })
        return reply.status === 202 ? 202 : [reply.status, reply.body.code]
      }
      const mails = ['verify-email', 'password-reset']
      const each = async (id: number) => [
        await post(id, 'verify-email'),
        await post(id, 'password-reset'),
      ]
      await mailTo(api, ALICE.email, 'verify-email')
      for (const path of mails)
        assert.deepEqual(await post(userId, path, {}), [400, 'VALIDATION_ERROR'])
      assert.deepEqual(await each(999_999), Array(2).fill([404, 'USER_NOT_FOUND']))

      clock.advance(1)
      assert.equal(await post(userId, 'verify-email'), 202)
      const mail = await mailTo(api, ALICE.email, 'verify-email', 2)
      const proof = { token: tokenOf(mail) }
      assert.equal((await api.post('/api/auth/verify-email', proof)).status, 204)
      assert.deepEqual(await post(userId, 'verify-email'), [409, 'EMAIL_ALREADY_VERIFIED'])
      assert.deepEqual(await audited(api, 'event=VERIFICATION_SENT'), [
        ['VERIFICATION_SENT', 'admin', 'alice', REASON.reason],
      ])

      const odd = { ...ALICE, username: 'odd', email: '"odd,one"@example.com' }
      const { body: registered } = await api.post('/api/auth/register', odd)
      const id: number = registered.id
      assert.deepEqual(await each(id), Array(2).fill([409, 'ADDRESS_NOT_MAILABLE']))
      await api.patch(`/api/users/${id}`, { enabled: false }, { token })
      assert.deepEqual(await each(id), Array(2).fill([409, 'ACCOUNT_DISABLED']))
      await remove(api, `/api/users/${id}`, token, REASON)
      assert.deepEqual(await each(id), Array(2).fill([409, 'ACCOUNT_DELETION_PENDING']))
      assert.deepEqual(await post(id, 'deletion/cancel', {}), [400, 'VALIDATION_ERROR'])
      assert.deepEqual(await post(999_999, 'deletion/cancel'), [404, 'USER_NOT_FOUND'])
      assert.deepEqual(await post(userId, 'deletion/cancel'), [409, 'NO_DELETION_PENDING'])
      const invited = await api.post('/api/users', { ...odd, username: 'even' }, { token })
      assert.deepEqual(invited.body.errors, ['email: no mail can be sent to it'])
      const operator = { username: 'Command Line', email: 'operator@example.com' }
      const reserved = await api.post('/api/users', operator, { token })
      assert.deepEqual(reserved.body.errors, ['username: is reserved'])
    })

    test('exports the data stored about a user, without any secret', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      await mailTo(api, ALICE.email, 'password-reset')

      const both = await Promise.all(
        [1, 2].map(() => api.post('/api/users/me/export/file', undefined, { token })),
      )
      assert.deepEqual([both[0]?.status, both[1]?.status], [200, 200])
      const own = await api.post('/api/users/me/export/file', undefined, { token })
      const byAdmin = await api.post(`/api/users/${userId}/export`, REASON, { token: admin })

      assert.deepEqual([own.status, byAdmin.status], [200, 200])
      assert.equal((await api.get('/api/users/me/export', { token })).status, 405)
      assert.match(own.headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(own.body.profile.email, ALICE.email)
      assert.equal(own.body.sessions.length, 1)
      const mails = own.body.mails.map(({ kind }: { kind: string }) => kind)
      assert.ok(mails.includes('password-reset'))
      assert.deepEqual(
        byAdmin.body.audit.map(({ event }: { event: string }) => event),
        ['REGISTER', 'LOGIN', ...Array(4).fill('DATA_EXPORTED')],
      )
      assert.deepEqual(
        byAdmin.body.audit
          .slice(-2)
          .map(({ actor, address }: Record<string, string>) => [actor, address]),
        [
          ['alice', '127.0.0.1'],
          ['admin', null],
        ],
      )
      assert.doesNotMatch(JSON.stringify(byAdmin.body), /argon2|hash|token/i)
      await mailTo(api, ALICE.email, 'data-exported', 4)
      assert.equal((await api.post(`/api/users/${userId}/export`, REASON, { token })).status, 403)
    })

    test('exports the second factor, browsers and service keys of a user, without their secrets', async (t) => {
      const { api, token, userId, clock } = await startWithAlice(t, { engine })
      const admin = { token: await adminToken(api) }
      await api.patch(`/api/users/${userId}`, { roles: ['ROLE_ADMIN'] }, admin)
      const { recoveryCodes } = await enrol(api, token, clock)
      const key = { name: 'shop', scopes: ['users:read'] }
      const made = await api.post('/api/service-keys', key, { token })

      const { status, body } = await api.post('/api/users/me/export/file', undefined, { token })

      assert.equal(status, 200)
      assert.deepEqual([body.profile.emailVerified, body.profile.secondFactor], [false, true])
      const enrolledAt = clock().toISOString()
      assert.deepEqual(body.secondFactor, { enrolledAt, recoveryCodesLeft: 10 })
      assert.deepEqual(body.knownBrowsers, [])
      assert.deepEqual(
        body.serviceKeys.map(({ name, scopes }: typeof key) => ({ name, scopes })),
        [key],
      )
      assert.match(body.elsewhere.files, /^GET \/file\/list /)
      const text = JSON.stringify(body)
      for (const secret of [made.body.secret, ...recoveryCodes]) assert.ok(!text.includes(secret))
    })

    test('exports through a mailed link, which is valid for a day or until the password changes', async (t) => {
      const { api, token, clock } = await startWithAlice(t, { engine })
      const ask = async (count: number) => {
        const asked = await api.post('/api/users/me/export', undefined, { token })
        assert.equal(asked.status, 202)
        return tokenOf(await mailTo(api, ALICE.email, 'data-export', count))
      }
      const download = (link: string) => api.post('/api/users/me/export/download', { token: link })

      const first = await ask(1)
      for (let times = 0; times < 2; times += 1) {
        const { status, body } = await download(first)
        assert.deepEqual([status, body.profile.email], [200, ALICE.email])
      }
      clock.advance(61)
      const second = await ask(2)
      assert.equal((await download(first)).status, 400)
      const change = { currentPassword: ALICE.password, newPassword: NEW_PASSWORD }
      await api.post('/api/users/me/password', change, { token })
      assert.equal((await download(second)).status, 400)
      clock.advance(61)
      const third = await ask(3)
      clock.advance(DAY)
      assert.equal((await download(third)).status, 400)
      assert.equal((await api.post('/api/users/me/export')).status, 401)
    })
  })

  describe(`an account that is to be erased on ${engine.name}`, engine.options, () => {
    const startLeaving = async (t: TestContext) => {
      const started = await startWithAlice(t, { engine, clock: testClock() })
      const { api, token } = started
      const asked = await remove(api, '/api/users/me', token)
      assert.equal(asked.status, 202)
      return { ...started, deletesAt: asked.body.deletesAt as string }
    }
    const cancel = (api: Api, token: string) => api.post('/api/users/me/deletion/cancel', { token })

    test('is closed at once, and is restored by the link in the mail', async (t) => {
      const { api, token, pair, userId, deletesAt, clock } = await startLeaving(t)

      assert.equal(Date.parse(deletesAt) - clock().getTime(), 7 * DAY * 1000)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      const { refreshToken } = pair
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
      const admin = await adminToken(api)
      const { body } = await api.get(`/api/users/${userId}`, { token: admin })
      assert.deepEqual([body.enabled, body.deletesAt, body.deletionBy], [false, deletesAt, 'user'])
      const enable = await api.patch(`/api/users/${userId}`, { enabled: true }, { token: admin })
      assert.equal(enable.body.code, 'ACCOUNT_DELETION_PENDING')

      const mail = await mailTo(api, ALICE.email, 'deletion-requested')
      const replies = await Promise.all([1, 2, 3].map(() => cancel(api, tokenOf(mail))))
      assert.deepEqual(replies.map(({ status }) => status).sort(), [204, 400, 400])
      assert.equal((await logIn(api)).status, 200)
      await mailTo(api, ALICE.email, 'deletion-cancelled')
    })

    test('is restored by signing in and confirming', async (t) => {
      const { api, deletesAt } = await startLeaving(t)

      const refused = await logIn(api)

      assert.deepEqual(
        [refused.status, refused.body.code, refused.body.deletesAt],
        [401, 'DELETION_PENDING', deletesAt],
      )
      assert.equal((await logIn(api, { ...ALICE, password: 'x' })).body.code, 'INVALID_CREDENTIALS')
      assert.equal((await cancel(api, refused.body.token)).status, 204)
      assert.equal((await logIn(api)).status, 200)
    })

    test('is restored by signing in with a passkey and confirming', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const passkey = await startPasskeyClient(api)
      assert.equal((await passkey.register(token)).status, 200)
      const { body } = await remove(api, '/api/users/me', token)

      const refused = await passkey.logIn()

      assert.deepEqual(
        [refused.status, refused.body.code, refused.body.deletesAt],
        [401, 'DELETION_PENDING', body.deletesAt],
      )
      assert.equal((await cancel(api, refused.body.token)).status, 204)
      assert.equal((await passkey.logIn()).status, 200)
    })

    test('is restored by signing in only with the second factor, if it has one', async (t) => {
      const { api, token, clock } = await startWithAlice(t, { engine })
      const { app } = await enrol(api, token, clock)
      assert.equal((await remove(api, '/api/users/me', token)).status, 202)

      const mfaToken = await firstStep(api, ALICE)
      const wrong = await secondStep(api, mfaToken, { code: app.wrong() })
      assert.deepEqual([wrong.body.code, wrong.body.token], ['INVALID_CODE', undefined])
      const refused = await secondStep(api, mfaToken, { code: app.next() })
      assert.deepEqual([refused.status, refused.body.code], [401, 'DELETION_PENDING'])
      assert.equal((await secondStep(api, mfaToken, { code: app.next() })).body.triesLeft, 0)

      assert.equal((await cancel(api, refused.body.token)).status, 204)
      const again = await secondStep(api, await firstStep(api, ALICE), { code: app.next() })
      assert.equal(again.status, 200)
    })

    test('is erased after the grace period, and nothing about the user is left', async (t) => {
      const started = await startLeaving(t)
      const { api, clock, userId } = started
      assert.ok((await eraseNow(started)).one_time_tokens?.includes(userId))

      clock.advance(7 * DAY + 1)
      const left = await eraseNow(started)

      const { tombstones, ...others } = left
      assert.deepEqual(tombstones, [userId])
      for (const [table, ids] of Object.entries(others))
        assert.ok(!ids.includes(userId), `${table} still has rows of the user`)
      assert.equal((await logIn(api)).body.code, 'INVALID_CREDENTIALS')
      const token = await adminToken(api)
      assert.equal((await api.get(`/api/users/${userId}`, { token })).status, 404)
      assert.deepEqual(await audited(api, 'user=alice'), [])
      const events = (await audited(api, `user=${encodeURIComponent(`user ${userId}`)}`)).flat()
      assert.ok(events.includes('USER_DELETED') && events.includes('REGISTER'))

      assert.deepEqual((await api.get('/api/users/deleted', { token })).body.items, [])
      clock.advance(61)
      const { body: list } = await api.get('/api/users/deleted', { token })
      assert.deepEqual(
        list.items.map(({ id }: { id: number }) => id),
        [userId],
      )
      const rest = await api.get(`/api/users/deleted?after=${list.next}`, { token })
      assert.deepEqual(rest.body, { items: [], next: list.next })
      assert.equal((await api.get('/api/users/deleted?after=x', { token })).status, 400)
    })

    test('is erased although one that was due earlier cannot be', async (t) => {
      const started = await startWithAlice(t, { engine, clock: testClock() })
      const { api, token, clock, config, userId } = started
      const admin = await adminToken(api)
      const { body } = await api.get('/api/users?username=user', { token: admin })
      const stuck = body.content.find(({ username }: ApiReply['body']) => username === 'user').id
      assert.equal((await remove(api, `/api/users/${stuck}`, admin, REASON)).status, 202)
      clock.advance(1)
      assert.equal((await remove(api, '/api/users/me', token)).status, 202)
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      await sql`create table others (about integer references users (id))`.execute(db)
      await sql`insert into others values (${stuck})`.execute(db)
      clock.advance(7 * DAY + 1)

      await assert.rejects(eraseNow(started), ({ errors: [error] }: AggregateError) => {
        assert.equal(error.message, `user ${stuck} could not be erased`)
        return true
      })

      const statusOf = async (id: number) =>
        (await api.get(`/api/users/${id}`, { token: await adminToken(api) })).status
      assert.deepEqual([await statusOf(stuck), await statusOf(userId)], [200, 404])
    })

    test('loses its service keys at once, and its name is removed from what it created', async (t) => {
      const started = await startWithAlice(t, { engine, clock: testClock() })
      const { api, clock, userId } = started
      const admin = { token: await adminToken(api) }
      await api.patch(`/api/users/${userId}`, { roles: ['ROLE_ADMIN'] }, admin)
      const own = { token: (await logIn(api)).body.accessToken }
      const endpoint = { url: 'http://localhost:9/' }
      assert.equal((await api.post('/api/webhooks/endpoints', endpoint, own)).status, 201)
      const key = { name: 'shop', scopes: ['users:read'] }
      const made = await api.post('/api/service-keys', key, own)
      const others = await api.post('/api/service-keys', { ...key, name: 'theirs' }, admin)
      const works = async ({ body }: ApiReply) =>
        (await api.get('/api/users', { token: body.secret })).status
      assert.deepEqual([await works(made), await works(others)], [200, 200])

      await remove(api, '/api/users/me', own.token)
      assert.deepEqual([await works(made), await works(others)], [401, 200])
      assert.deepEqual(await audited(api, 'event=SERVICE_KEY_REVOKED'), [
        ['SERVICE_KEY_REVOKED', 'alice', 'key 1 (shop)'],
      ])
      await api.delete(`/api/service-keys/${others.body.id}`, admin)
      clock.advance(7 * DAY + 1)
      await eraseNow(started)

      const token = await adminToken(api)
      for (const path of ['/api/webhooks/endpoints', '/api/service-keys']) {
        const { body } = await api.get(path, { token })
        const makers = body.map(({ createdBy }: { createdBy: string }) => createdBy)
        assert.deepEqual(
          makers.filter((name: string) => name !== 'admin'),
          [`user ${userId}`],
        )
      }
    })

    test('that has the name of the command line gets none of its notices, and changes none of its records', async (t) => {
      const started = await startWithAlice(t, { engine, clock: testClock() })
      const { api, config, clock } = started
      const impostor = await registerAs(started, 'command line')
      const create = ['keys', 'create', 'shop', '--scope', 'users:read', '--service', 'identity']
      await commandLine(config.databaseUrl)(...create)
      const { body: pair } = await logIn(api, impostor)

      assert.equal((await remove(api, '/api/users/me', pair.accessToken)).status, 202)
      clock.advance(7 * DAY + 1)
      await eraseNow(started)

      const made = ['SERVICE_KEY_CREATED', 'command line', 'key 1 (shop)']
      assert.deepEqual(await audited(api, 'event=SERVICE_KEY_CREATED'), [made])
      const token = await adminToken(api)
      const { body: keys } = await api.get('/api/service-keys', { token })
      assert.deepEqual([keys[0].createdBy, keys[0].revokedAt], ['command line', null])
      const { body: mails } = await api.get('/api/mail?size=100', { token })
      const kinds = mails.content.map(({ kind }: { kind: string }) => kind)
      assert.ok(!kinds.includes('service-key-made'))
    })

    test('that has the name given to an erased account exports nothing about that account', async (t) => {
      const started = await startLeaving(t)
      const { api, clock, userId } = started
      clock.advance(7 * DAY + 1)
      await eraseNow(started)
      const impostor = await registerAs(started, `user ${userId}`)
      const { body: pair } = await logIn(api, impostor)

      const exported = await api.post('/api/users/me/export/file', undefined, {
        token: pair.accessToken,
      })

      assert.deepEqual([exported.status, exported.body.audit], [200, []])
    })

    test('without a grace period still gets a last mail, which leaves the outbox once it is sent', async (t) => {
      const smtp = await startSmtpServer(t)
      const env = { IDENTITY_DELETION_GRACE_DAYS: '0' }
      const relay = { SMTP_URL: smtp.url, MAIL_FROM: 'plinth@example.com' }
      const kept = await startWithAlice(t, { engine, env })
      const sent = await startWithAlice(t, { engine, env: { ...env, ...relay } })
      for (const { api, token } of [kept, sent])
        assert.equal((await remove(api, '/api/users/me', token)).status, 202)

      const { text } = await mailTo(kept.api, ALICE.email, 'account-erased')
      assert.match(text, /^Hello,\n\nYour account and everything in it were erased/)
      const received = await until(
        async () => smtp.received.filter(({ source }) => /Subject: .*erased/.test(source)),
        ({ length }) => length > 0,
      )
      assert.deepEqual(received[0]?.to, [ALICE.email])
      const token = await adminToken(sent.api)
      await until(
        async () => (await sent.api.get('/api/mail', { token })).body.content,
        (mails) => mails.every(({ to }: { to: string }) => to !== ALICE.email),
      )
    })

    test('loses its mails to a former address and its registration too', async (t) => {
      const env = { IDENTITY_DELETION_GRACE_DAYS: '0', IDENTITY_REGISTRATION: 'confirm' }
      const { api, config } = await startIdentity(t, { engine, env })
      await api.post('/api/auth/register', ALICE)
      const proof = { token: tokenOf(await mailTo(api, ALICE.email, 'verify-email')) }
      assert.equal((await api.post('/api/auth/verify-email', proof)).status, 204)
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      await mailTo(api, ALICE.email, 'password-reset')
      const { body: pair } = await logIn(api)
      const own = { token: pair.accessToken as string }
      const newEmail = 'alice@new.example'
      await api.post('/api/users/me/email', { newEmail }, own)
      const change = { token: tokenOf(await mailTo(api, newEmail, 'email-change')) }
      assert.equal((await api.post('/api/users/me/email/confirm', change)).status, 204)

      assert.equal((await remove(api, '/api/users/me', own.token)).status, 202)
      await mailTo(api, newEmail, 'account-erased')

      const { body } = await api.get('/api/mail?size=100', { token: await adminToken(api) })
      const mails = body.content.map(({ kind, to }: { kind: string; to: string }) => [kind, to])
      assert.deepEqual(mails, [['account-erased', newEmail]])
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      assert.deepEqual(await db.selectFrom('held_registrations').selectAll().execute(), [])
    })

    test('has its name and address reserved for 30 days', async (t) => {
      const started = await startLeaving(t)
      const { api, clock, userId } = started
      clock.advance(7 * DAY + 1)
      await eraseNow(started)
      const other = { ...ALICE, email: 'other@example.com' }
      const register = async (user: object) => {
        const { status, body } = await api.post('/api/auth/register', user)
        return status === 201 ? body.id : body.code
      }

      assert.equal(await register(other), 'USERNAME_ALREADY_EXISTS')
      assert.equal(await register({ ...ALICE, username: 'other' }), 'EMAIL_ALREADY_EXISTS')
      clock.advance(30 * DAY)

      assert.ok((await register(ALICE)) > userId)
    })

    test('by order of an administrator can be kept by an administrator, but not by the user', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      const path = `/api/users/${userId}`
      assert.equal((await remove(api, path, admin, {})).status, 400)
      assert.equal((await remove(api, path, token, REASON)).status, 403)

      const asked = await remove(api, path, admin, REASON)

      assert.equal(asked.status, 202)
      assert.deepEqual((await remove(api, path, admin, REASON)).body, asked.body)
      assert.equal((await logIn(api)).body.code, 'INVALID_CREDENTIALS')
      await mailTo(api, ALICE.email, 'deletion-by-administrator')
      const keep = () => api.post(`${path}/deletion/cancel`, REASON, { token: admin })
      assert.equal((await keep()).status, 204)
      assert.equal((await keep()).body.code, 'NO_DELETION_PENDING')
      assert.equal((await logIn(api)).status, 200)
      const { body: me } = await api.get('/api/users/me', { token: admin })
      const last = await remove(api, `/api/users/${me.id}`, admin, REASON)
      assert.equal(last.body.code, 'LAST_ADMINISTRATOR')
      const own = await remove(api, '/api/users/me', admin)
      assert.equal(own.body.code, 'LAST_ADMINISTRATOR')
    })
  })
}

for (const engine of engines)
  describe(`an erasure that is killed on ${engine.name}`, engine.options, () => {
    for (const [step, tags] of [
      ['erasure:written', ['all']],
      ['erasure:committed', []],
    ] as const)
      test(`at ${step} is complete after the next run`, { tags: [...tags] }, async (t) => {
        const url = await engine.freshUrl(t)
        const env = {
          SUITE_DATA: tmpdir(),
          IDENTITY_PORT: '0',
          IDENTITY_MASTER_KEY: MASTER_KEY,
          IDENTITY_DATABASE_URL: url,
          IDENTITY_DELETION_GRACE_DAYS: '0',
          NODE_ENV: 'test',
          FAIL_POINT: `${step}=kill`,
          ...cheapHashing('IDENTITY_'),
        }
        const first = await spawnService(t, MAIN, env)
        const { body: pair } = await logIn(first.api, { ...ADMIN, username: 'user' })
        // The service may be killed before it has answered.
        await remove(first.api, '/api/users/me', pair.accessToken).catch(() => {})
        await first.ended

        const config = loadConfig(env)
        const left = await eraseNow({ config, clock: () => new Date() })

        const { tombstones, ...others } = left
        assert.equal(tombstones?.length, 1)
        for (const ids of Object.values(others)) assert.ok(!ids.includes(tombstones?.[0] ?? 0))
      })
  })
