import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import { spawnService } from '@plinth/kit/testing'
import { ALICE } from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const NEW_PASSWORD = 'another unmistakable secret'

describe('secrets', () => {
  test('are in no log line, not even at the finest level, and in no file of the database', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'plinth-secrets-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const {
      api,
      process: child,
      kill,
    } = await spawnService(t, MAIN, {
      SUITE_DATA: folder,
      IDENTITY_PORT: '0',
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
    await api.request('POST', '/api/auth/login', {
      headers: { 'content-type': 'application/json' },
      body: `{"username":"alice","password":"${ALICE.password}"`,
    })
    await kill('SIGTERM')

    const stored = readdirSync(folder)
      .filter((name) => name.startsWith('identity.db'))
      .map((name) => readFileSync(join(folder, name)))
    assert.ok(output.length > 0 && stored.length > 0)
    const everything = Buffer.concat([...output, ...stored]).toString('latin1')
    const secrets = { ALICE: ALICE.password, NEW_PASSWORD, ...first, second: second.refreshToken }
    for (const [name, secret] of Object.entries({ ...secrets, access: token }))
      if (typeof secret === 'string' && secret !== 'Bearer')
        assert.ok(!everything.includes(secret), `${name} was written down`)
    assert.ok(!everything.includes('PRIVATE KEY'))
  })
})
