import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { mailTo, startSmtpServer } from './inbox.ts'
import { engines, startIdentity } from './start-identity.ts'

const PASSWORD = 'the first password of all'
// A blank setting counts as absent. Production does not allow the cheap hashing of the tests.
const PRODUCTION = {
  NODE_ENV: 'production',
  IDENTITY_PASSWORD_MEMORY_KIB: '',
  IDENTITY_PASSWORD_PASSES: '',
  IDENTITY_PUBLIC_URL: 'https://id.example',
  IDENTITY_DEMO_ACCOUNTS: 'false',
}
const FIRST = { IDENTITY_ADMIN_USERNAME: 'root', IDENTITY_ADMIN_PASSWORD: PASSWORD }

for (const engine of engines)
  describe(`the first administrator on ${engine.name}`, engine.options, () => {
    for (const [what, IDENTITY_ADMIN_EMAIL] of Object.entries({
      'no address': '',
      'an address at localhost': 'root@localhost',
      'an address below localhost': 'root@mail.LOCALHOST',
      'an address that mail servers deliver locally': 'root@localhost.localdomain',
    }))
      test(`is refused in production with ${what}, which no mail may reach`, async (t) => {
        const env = { ...PRODUCTION, ...FIRST, IDENTITY_ADMIN_EMAIL }

        await assert.rejects(startIdentity(t, { engine, env }), (error: Error) => {
          assert.equal(error.name, 'SettingsError')
          assert.match(error.message, /IDENTITY_ADMIN_EMAIL/)
          assert.ok(!error.message.includes(PASSWORD))
          return true
        })
      })

    test('is created in production with a real address, which a later start need not name', async (t) => {
      const real = { ...PRODUCTION, ...FIRST, IDENTITY_ADMIN_EMAIL: 'Root@Example.com' }
      const { api, config } = await startIdentity(t, { engine, env: real })
      const logIn = (on: typeof api) =>
        on.post('/api/auth/login', { username: 'root', password: PASSWORD })
      const { body: pair } = await logIn(api)
      const { body: me } = await api.get('/api/users/me', { token: pair.accessToken })

      const env = { ...PRODUCTION, ...FIRST, IDENTITY_DATABASE_URL: config.databaseUrl }
      const later = await startIdentity(t, { engine, env })

      assert.deepEqual([me.email, me.roles], ['root@example.com', ['ROLE_ADMIN', 'ROLE_USER']])
      assert.equal((await logIn(later.api)).status, 200)
    })
  })

describe('a mail to localhost', () => {
  test('is never sent in production: its reader there would win the account', async (t) => {
    const smtp = await startSmtpServer(t)
    const development = await startIdentity(t)
    for (const [username, email] of [
      ['root', 'root@localhost'],
      ['deep', 'deep@a.b.localhost'],
      ['alias', 'alias@localhost.localdomain'],
      ['ada', 'ada@example.com'],
    ])
      await development.api.post('/api/auth/register', { username, email, password: PASSWORD })
    // Otherwise it might take the mails, and keep them in its outbox.
    await development.server.close()
    const env = {
      ...PRODUCTION,
      IDENTITY_DEMO_ACCOUNTS: 'true',
      IDENTITY_DATABASE_URL: development.config.databaseUrl,
      SMTP_URL: smtp.url,
      MAIL_FROM: 'accounts@plinth.example',
    }
    const { api } = await startIdentity(t, { env })

    for (const email of [
      'root@localhost',
      'deep@a.b.localhost',
      'alias@localhost.localdomain',
      'ada@example.com',
    ])
      assert.equal((await api.post('/api/auth/password-reset', { email })).status, 202)
    await until(
      async () => smtp.recipients.length,
      (sent) => sent > 0,
    )

    const password = 'password123123'
    const { body: admin } = await api.post('/api/auth/login', { username: 'admin', password })
    const token = admin.accessToken
    const mails = await until(
      async () => (await api.get('/api/mail?size=100', { token })).body.content,
      (found: { kind: string; state: string }[]) =>
        found.filter(({ kind, state }) => kind === 'password-reset' && state !== 'queued')
          .length === 4,
    )
    const states = mails
      .filter(({ kind }) => kind === 'password-reset')
      .map(({ to, state }: { to?: string; state: string }) => `${to} ${state}`)
    assert.deepEqual(states.toSorted(), [
      'ada@example.com sent',
      'alias@localhost.localdomain dropped',
      'deep@a.b.localhost dropped',
      'root@localhost dropped',
    ])
    assert.deepEqual([...new Set(smtp.recipients)], ['ada@example.com'])
    const invited = { username: 'bob', email: 'bob@localhost', reason: 'new colleague' }
    assert.equal((await api.post('/api/users', invited, { token })).status, 400)
  })

  test('is not sent in development either when there is a mail server', async (t) => {
    const smtp = await startSmtpServer(t)
    const env = { SMTP_URL: smtp.url, MAIL_FROM: 'accounts@plinth.example' }
    const { api } = await startIdentity(t, { env })
    for (const [username, email] of [
      ['root', 'root@localhost'],
      ['ada', 'ada@example.com'],
    ])
      await api.post('/api/auth/register', { username, email, password: PASSWORD })

    for (const email of ['root@localhost', 'ada@example.com'])
      assert.equal((await api.post('/api/auth/password-reset', { email })).status, 202)
    const password = 'password123123'
    const { body: admin } = await api.post('/api/auth/login', { username: 'admin', password })
    const mails = await until(
      async () => (await api.get('/api/mail?size=100', { token: admin.accessToken })).body.content,
      (found: { kind: string; state: string }[]) =>
        found.filter(({ kind, state }) => kind === 'password-reset' && state !== 'queued')
          .length === 2,
    )

    const dropped = mails.filter(({ state }) => state === 'dropped')
    assert.ok(dropped.length > 0)
    assert.deepEqual([...new Set(smtp.recipients)], ['ada@example.com'])
  })

  test('is in the inbox of development', async (t) => {
    const { api } = await startIdentity(t)
    const email = 'root@localhost'
    await api.post('/api/auth/register', { username: 'root', email, password: PASSWORD })

    await api.post('/api/auth/password-reset', { email })

    assert.match((await mailTo(api, email, 'password-reset')).code, /^\d{8}$/)
  })
})
