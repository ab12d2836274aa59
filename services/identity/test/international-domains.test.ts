import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { ALICE, engines, startIdentity, startWithAlice } from './start-identity.ts'

const UNICODE = 'ada@m\u00fcnchen.de'
const ASCII = 'ada@xn--mnchen-3ya.de'
const { password } = ALICE
const NEW_PASSWORD = 'a password of my own'
const OTHER_FORM = [
  { written: ASCII, other: UNICODE },
  { written: UNICODE, other: ASCII },
]

for (const engine of engines) {
  describe(`an address at an international domain on ${engine.name}`, engine.options, () => {
    for (const { written, other } of OTHER_FORM) {
      test(`registered as ${written} is one account with ${other}`, async (t) => {
        const { api } = await startIdentity(t, { engine })
        const register = async (username: string, email: string) => {
          const { status, body } = await api.post('/api/auth/register', {
            username,
            email,
            password,
          })
          return [status, body.code ?? body.email]
        }

        assert.deepEqual(await register(written, written), [201, UNICODE])
        assert.deepEqual(await register('ada', other), [409, 'EMAIL_ALREADY_EXISTS'])
        assert.deepEqual(await register(other, ALICE.email), [409, 'USERNAME_ALREADY_EXISTS'])
        for (const username of [written, other, other.toUpperCase()])
          assert.equal((await api.post('/api/auth/login', { username, password })).status, 200)
      })

      test(`registered as ${written} resets the password as ${other}`, async (t) => {
        const { api } = await startIdentity(t, { engine })
        const ada = { username: 'ada', password }
        await api.post('/api/auth/register', { ...ada, email: written })

        await api.post('/api/auth/password-reset', { email: other })
        const { code } = await mailTo(api, UNICODE, 'password-reset')
        const confirmed = await api.post('/api/auth/password-reset/confirm', {
          email: other,
          code,
          newPassword: NEW_PASSWORD,
        })

        assert.equal(confirmed.status, 204)
        const login = { ...ada, password: NEW_PASSWORD }
        assert.equal((await api.post('/api/auth/login', login)).status, 200)
      })

      test(`registered as ${written} and held is confirmed as ${other}`, async (t) => {
        const { api } = await startIdentity(t, {
          engine,
          env: { IDENTITY_REGISTRATION: 'confirm' },
        })
        await api.post('/api/auth/register', { username: 'ada', email: written, password })
        const { code } = await mailTo(api, other, 'verify-email')

        const confirmed = await api.post('/api/auth/verify-email', { email: other, code })

        assert.equal(confirmed.status, 204)
        assert.equal((await api.post('/api/auth/login', { username: 'ada', password })).status, 200)
      })
    }

    test('is no username if its Unicode form has an invisible character', async (t) => {
      const { api } = await startIdentity(t, { engine })
      const username = 'ada@xn--11b2ezcw70k.de'

      const { body } = await api.post('/api/auth/register', { ...ALICE, username })

      assert.match(body.errors?.join() ?? '', /^username: .* no control or invisible ones$/)
    })

    test('is not changed to the other form of the same address', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const ask = (newEmail: string) => api.post('/api/users/me/email', { newEmail }, { token })
      await ask(ASCII)
      const { code } = await mailTo(api, UNICODE, 'email-change')
      const confirm = { email: ASCII, code }
      assert.equal((await api.post('/api/users/me/email/confirm', confirm)).status, 204)

      const again = await ask(UNICODE)

      assert.equal((await api.get('/api/users/me', { token })).body.email, UNICODE)
      assert.deepEqual(again.body.errors, ['newEmail: is your address already'])
    })

    test('is not given to a second account by a change of address', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      await api.post('/api/auth/register', { username: 'ada', email: UNICODE, password })

      await api.post('/api/users/me/email', { newEmail: ASCII }, { token })

      const { kind } = await mailTo(api, UNICODE, 'email-taken')
      assert.equal(kind, 'email-taken')
    })

    test('is found by administrators in either form', async (t) => {
      const { api } = await startIdentity(t, { engine })
      await api.post('/api/auth/register', { username: 'ada', email: ASCII, password })
      const admin = { username: 'admin', password: 'password123123' }
      const { accessToken: token } = (await api.post('/api/auth/login', admin)).body

      for (const q of [ASCII, UNICODE]) {
        const { body } = await api.get(`/api/users?q=${encodeURIComponent(q)}`, { token })
        assert.deepEqual(
          body.content.map(({ email }: { email: string }) => email),
          [UNICODE],
        )
      }
    })
  })

  test(
    `what only resembles a domain stays an address of its own on ${engine.name}`,
    engine.options,
    async (t) => {
      const { api } = await startIdentity(t, { engine })
      const different = [
        'ada@example.com',
        'ada@example.com/x',
        'ada@example%2ecom',
        'ada@exam\u00adple.com',
        'ada@\uff45xample.com',
        'ada@127.0.0.1',
        'ada@127.1',
        'ada@\u07c5.de',
        // Decodes to the one before, whose own form is xn--gsb.de.
        'ada@xn---gsb.de',
      ]

      for (const [index, email] of different.entries()) {
        const { status, body } = await api.post('/api/auth/register', {
          username: `ada${index}`,
          email,
          password,
        })
        assert.deepEqual([status, body.email], [201, email])
      }
    },
  )
}

type Tables = IdentityTables & { schema_migrations: { name: string } }

const MIGRATIONS = ['accounts-0010-unicode-domains', 'identity-0010-unicode-domains']

/** Puts a database back in the state before the migrations, and changes it as an earlier version would have. */
async function before(url: string, change: (db: Opened['db']) => Promise<unknown>) {
  const { db, close } = await openDatabase<Tables>(url, identityMigrations)
  await change(db)
  await db.deleteFrom('schema_migrations').where('name', 'in', MIGRATIONS).execute()
  await close()
}

type Opened = Awaited<ReturnType<typeof openDatabase<Tables>>>

for (const engine of engines) {
  describe(
    `addresses that an earlier version stored in ASCII on ${engine.name}`,
    engine.options,
    () => {
      const restart = async (
        t: TestContext,
        env: Record<string, string>,
        change: (db: Opened['db']) => Promise<unknown>,
      ) => {
        await before(env.IDENTITY_DATABASE_URL as string, change)
        return startIdentity(t, { engine, env })
      }

      test('are found after the migration, with their audit', async (t) => {
        const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
        const earlier = await startIdentity(t, { engine, env })
        const ada = { username: UNICODE, email: UNICODE, password }
        const { body: user } = await earlier.api.post('/api/auth/register', ada)

        const { api } = await restart(t, env, async (db) => {
          const names = { username: ASCII, email: ASCII }
          await db.updateTable('users').set(names).where('id', '=', user.id).execute()
          await db.updateTable('audit_events').set({ subject: ASCII, actor: ASCII }).execute()
        })

        for (const username of [ASCII, UNICODE])
          assert.equal((await api.post('/api/auth/login', { username, password })).status, 200)
        const again = await api.post('/api/auth/register', { ...ada, username: 'other' })
        assert.equal(again.body.code, 'EMAIL_ALREADY_EXISTS')
        const { db, close } = await openDatabase<Tables>(
          env.IDENTITY_DATABASE_URL,
          identityMigrations,
        )
        t.after(close)
        const rows = await db
          .selectFrom('audit_events')
          .select('subject')
          .where('actor', '=', ASCII)
        assert.deepEqual(await rows.execute(), [])
      })

      test('do not stop the migration when the Unicode form is taken, and lose nothing', async (t) => {
        const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
        const earlier = await startIdentity(t, { engine, env })
        const ada = { username: UNICODE, email: UNICODE, password: 'the password of ada' }
        await earlier.api.post('/api/auth/register', ada)
        const { body: alice } = await earlier.api.post('/api/auth/register', ALICE)
        await earlier.api.post('/api/auth/password-reset', { email: ALICE.email })
        const mail = await mailTo(earlier.api, ALICE.email, 'password-reset')

        const { api } = await restart(t, env, async (db) => {
          const names = { username: ASCII, email: ASCII }
          await db.updateTable('users').set(names).where('id', '=', alice.id).execute()
          await db.updateTable('one_time_tokens').set({ address: ASCII }).execute()
        })

        assert.equal((await api.post('/api/auth/login', ada)).status, 200)
        const { status, body } = await api.post('/api/auth/login', { username: ASCII, password })
        assert.equal(status, 200)
        const me = await api.get('/api/users/me', { token: body.accessToken })
        assert.equal(me.body.email, ASCII)
        const confirm = { token: tokenOf(mail), newPassword: NEW_PASSWORD }
        assert.equal((await api.post('/api/auth/password-reset/confirm', confirm)).status, 204)
      })

      test('keep the codes and links that are under way', async (t) => {
        const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
        const { api: earlier, token, userId } = await startWithAlice(t, { engine, env })
        await earlier.post('/api/users/me/email', { newEmail: UNICODE }, { token })
        const change = await mailTo(earlier, UNICODE, 'email-change')
        const from = 'alice@xn--mnchen-3ya.de'

        const { api } = await restart(t, env, async (db) => {
          await db.updateTable('users').set({ email: from }).where('id', '=', userId).execute()
          const stored = { address: ASCII, details: JSON.stringify({ from }) }
          const changes = db.updateTable('one_time_tokens').where('kind', '=', 'email-change')
          await changes.set(stored).execute()
        })

        const confirm = { email: ASCII, code: change.code }
        assert.equal((await api.post('/api/users/me/email/confirm', confirm)).status, 204)
        assert.equal((await api.get('/api/users/me', { token })).body.email, UNICODE)
      })

      test('keep a registration that awaits its confirmation, and the mails to it', async (t) => {
        const url = await engine.freshUrl(t)
        const env = { IDENTITY_DATABASE_URL: url, IDENTITY_REGISTRATION: 'confirm' }
        const { api: earlier } = await startIdentity(t, { engine, env })
        await earlier.post('/api/auth/register', { username: UNICODE, email: UNICODE, password })
        const { code } = await mailTo(earlier, UNICODE, 'verify-email')

        const { api } = await restart(t, env, async (db) => {
          const names = { username: ASCII, address: ASCII }
          await db.updateTable('held_registrations').set(names).execute()
          await db.updateTable('mail_outbox').set({ address: ASCII }).execute()
        })

        assert.equal((await mailTo(api, UNICODE, 'verify-email')).code, code)
        const confirmed = await api.post('/api/auth/verify-email', { email: UNICODE, code })
        assert.equal(confirmed.status, 204)
        const login = { username: ASCII, password }
        assert.equal((await api.post('/api/auth/login', login)).status, 200)
      })
    },
  )
}
