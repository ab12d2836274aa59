import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import { openDatabase } from '@plinth/kit'
import { engines, spawnService, testClock } from '@plinth/kit/testing'
import { identityMigrations } from '../src/database/migrations/index.ts'
import { authenticatorApp, firstStep, secondStep } from './authenticator-app.ts'
import { ALICE } from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const NEW_PASSWORD = 'another unmistakable secret'

/** Every row of every table, as text. */
async function contentsOf(databaseUrl: string): Promise<string> {
  const { db, close } = await openDatabase<Record<string, object>>(databaseUrl, identityMigrations)
  const rows: unknown[] = []
  for (const { name, schema = 'public' } of await db.introspection.getTables())
    if (schema === 'public') rows.push(await db.selectFrom(name).selectAll().execute())
  await close()
  return JSON.stringify(rows)
}

for (const engine of engines) {
  describe(`secrets on ${engine.name}`, { skip: engine.skip }, () => {
    test('are in no log line at any level, in no table and in no file', async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'plinth-secrets-'))
      t.after(() => rmSync(folder, { recursive: true }))
      const databaseUrl =
        engine.name === 'sqlite'
          ? `sqlite:${join(folder, 'identity.db')}`
          : await engine.freshUrl(t)
      const {
        api,
        process: child,
        kill,
      } = await spawnService(t, MAIN, {
        SUITE_DATA: folder,
        IDENTITY_PORT: '0',
        IDENTITY_DATABASE_URL: databaseUrl,
        LOG_LEVEL: 'trace',
        ...cheapHashing('IDENTITY_'),
      })
      const output: Buffer[] = []
      child.stdout?.on('data', (chunk) => output.push(chunk))
      child.stderr?.on('data', (chunk) => output.push(chunk))

      await api.post('/api/auth/register', ALICE)
      const { body: first } = await api.post('/api/auth/login', ALICE)
      await api.post('/api/auth/login', { ...ALICE, username: ALICE.password })
      const { refreshToken } = first
      const { body: second } = await api.post('/api/auth/refresh', { refreshToken })
      await api.post('/api/auth/refresh', { refreshToken })
      const token = second.accessToken
      const change = { currentPassword: ALICE.password, newPassword: NEW_PASSWORD }
      await api.post('/api/users/me/password', change, { token })
      const { body: enrolment } = await api.post('/api/users/me/totp', undefined, { token })
      const app = authenticatorApp(enrolment.secret, testClock(new Date().toISOString()))
      const confirmation = { code: app.code() }
      const on = await api.post('/api/users/me/totp/confirm', confirmation, { token })
      const [recoveryCode = '', ...others] = on.body.recoveryCodes as string[]
      const mfaToken = await firstStep(api, { ...ALICE, password: NEW_PASSWORD })
      assert.equal((await secondStep(api, mfaToken, { recoveryCode })).status, 200)
      await api.request('POST', '/api/auth/login', {
        headers: { 'content-type': 'application/json' },
        body: `{"username":"alice","password":"${ALICE.password}"`,
      })
      await kill('SIGTERM')

      const stored = readdirSync(folder)
        .filter((name) => name.startsWith('identity.db'))
        .map((name) => readFileSync(join(folder, name)))
      const contents = await contentsOf(databaseUrl)
      assert.match(contents, /alice@example\.com/)
      assert.ok(output.length > 0 && (stored.length > 0 || engine.name === 'postgres'))
      const written = Buffer.concat([...output, ...stored]).toString('latin1')
      const everything = written + contents
      const factor = { totp: enrolment.secret, mfaToken, recoveryCode, ...others }
      const pairs = { ...first, second: second.refreshToken }
      const secrets = { ALICE: ALICE.password, NEW_PASSWORD, ...pairs, ...factor }
      for (const [name, secret] of Object.entries({ ...secrets, access: token }))
        if (typeof secret === 'string' && secret !== 'Bearer')
          assert.ok(!everything.includes(secret), `${name} was written down`)
      assert.ok(!everything.includes('PRIVATE KEY'))
    })
  })
}
