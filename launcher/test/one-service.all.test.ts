import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apiFor, engines } from '@plinth/kit/testing'
import { endOf, failureOf, launch, lineOf } from './launch.ts'
import { startIdentity, workersOf } from './start-identity.ts'
import { testEnv } from './test-env.ts'

describe('npm start -- identity', () => {
  test('runs that service alone and ignores the settings of the others', async (t) => {
    const { baseUrl, env } = await startIdentity(t, { PAYMENTS_PORT: 'nonsense' })

    const health = await fetch(`${baseUrl}/actuator/health`)

    assert.equal(health.status, 200)
    await assert.rejects(fetch(`http://localhost:${env.STORAGE_KEY_PORT}`))
  })

  test('inherits the public address, trusted proxies and hosts of the suite, unless it has its own', async (t) => {
    const suite = {
      SUITE_PUBLIC_URL: 'https://app.example',
      SUITE_TRUSTED_PROXIES: '127.0.0.1',
      SUITE_ALLOWED_HOSTS: 'inside.example',
    }
    const issuerOf = async (baseUrl: string) =>
      (await apiFor(baseUrl).get('/.well-known/oauth-authorization-server')).body.issuer

    const { baseUrl } = await startIdentity(t, suite)
    const own = await startIdentity(t, { ...suite, IDENTITY_PUBLIC_URL: 'https://id.example' })

    assert.equal(await issuerOf(baseUrl), 'https://app.example/identity')
    assert.equal(await issuerOf(own.baseUrl), 'https://id.example')
    const headers = { 'x-forwarded-host': 'inside.example', 'x-forwarded-proto': 'https' }
    const { body } = await apiFor(baseUrl).get('/', { headers })
    assert.equal(body.links?.health, 'https://inside.example/identity/actuator/health')
  })

  test('warns that it makes no scheduled backups', async (t) => {
    const { env, folder } = await testEnv(t, { LOG_LEVEL: 'warn', BACKUP_AT: '02:00' })

    const line = await lineOf(launch(t, { env, folder, args: ['identity'] }), /BACKUP_AT/)

    assert.match(JSON.parse(line).msg, /^BACKUP_AT is ignored: /)
  })

  test('lists the known services for an unknown name', async (t) => {
    const { env, folder } = await testEnv(t)

    const { errors } = await failureOf(launch(t, { env, folder, args: ['idntity'] }))

    assert.match(errors, /There is no service "idntity"\. Expected one of identity/)
  })
})

describe('WORKERS=2 npm start -- identity', {
  skip: process.platform !== 'linux' && 'needs Linux',
}, () => {
  test('runs two processes behind one port', async (t) => {
    const { child, baseUrl } = await startIdentity(t, { WORKERS: '2' })

    const workers = await workersOf(child, 2)

    assert.equal(workers.length, 2)
    assert.equal((await fetch(`${baseUrl}/actuator/health`)).status, 200)
  })

  for (const engine of engines)
    test(`both processes know a session, on ${engine.name}`, engine.options, async (t) => {
      const IDENTITY_DATABASE_URL = await engine.freshUrl(t)
      const { baseUrl } = await startIdentity(t, { WORKERS: '2', IDENTITY_DATABASE_URL })
      const api = apiFor(baseUrl)
      const admin = { username: 'admin', password: 'password123123' }
      const { body } = await api.post('/api/auth/login', admin)

      const whoAmI = () => api.get('/api/users/me', { token: body.accessToken })
      const replies = await Promise.all(Array.from({ length: 20 }, whoAmI))

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
    })

  test('replaces a worker that dies while the other answers', async (t) => {
    const { child, baseUrl } = await startIdentity(t, { WORKERS: '2' })
    const [victim] = await workersOf(child, 2)

    process.kill(victim ?? 0, 'SIGKILL')

    await workersOf(child, 2, victim)
    assert.equal((await fetch(`${baseUrl}/actuator/health`)).status, 200)
  })

  test('SIGTERM drains all workers and exits 0', async (t) => {
    const { child } = await startIdentity(t, { WORKERS: '2' })
    const workers = await workersOf(child, 2)

    child.kill('SIGTERM')

    assert.equal((await endOf(child)).exitCode, 0)
    for (const pid of workers) assert.throws(() => process.kill(pid, 0), /ESRCH/)
  })

  test('an invalid setting is reported once and exits 78', async (t) => {
    const { env, folder } = await testEnv(t, { WORKERS: '2', IDENTITY_PORT: 'eighty' })

    const { exitCode, errors } = await failureOf(launch(t, { env, folder, args: ['identity'] }))

    assert.equal(exitCode, 78)
    assert.equal(errors.match(/IDENTITY_PORT /g)?.length, 1)
  })
})
