import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Api, spawnService } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { loadConfig } from '../src/config.ts'

describe('the settings', () => {
  test('start it on the loopback address', () => {
    const config = loadConfig({})

    assert.equal(config.host, 'localhost')
    assert.equal(config.port, 8085)
    assert.match(config.databaseUrl, /^sqlite:/)
  })

  test('refuse production unless it is explicitly allowed', () => {
    const production = { NODE_ENV: 'production' }

    assert.throws(() => loadConfig(production), /SANDBOX_ALLOW_PRODUCTION/)
    const allowed = {
      SANDBOX_ALLOW_PRODUCTION: 'true',
      SANDBOX_SECRET_KEY: 'sk_test_of_these_tests',
      SANDBOX_SEED: 'a seed of these tests, long',
    }
    assert.ok(loadConfig({ ...production, ...allowed }))
  })

  test('refuse an endpoint without a secret and a database that is not SQLite, together', () => {
    const env = {
      SANDBOX_WEBHOOK_URL: 'http://localhost:8084/',
      SANDBOX_DATABASE_URL: 'postgres://localhost/x',
    }

    assert.throws(() => loadConfig(env), /SANDBOX_DATABASE_URL[\s\S]*SANDBOX_WEBHOOK_SECRET/)
  })
})

const MAIN = new URL('../src/main.ts', import.meta.url).pathname

describe('the process', () => {
  test('when killed loses nothing it has answered, and frees the keys of unfinished calls', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const settings = { SANDBOX_PORT: '0', SANDBOX_DATABASE_URL: `sqlite:${folder}/sandbox.db` }
    const first = await spawnService(t, MAIN, settings)
    const made = await createCustomer(first.api, 'done')
    await first.api.post('/sandbox/api/faults', { kind: 'hang' })
    const hanging = createCustomer(first.api, 'open').catch((error: Error) => error)
    await untilStruck(first.api)
    await first.kill('SIGKILL')

    const second = await spawnService(t, MAIN, settings)
    const replayed = await createCustomer(second.api, 'done')
    const retried = await createCustomer(second.api, 'open')

    assert.ok((await hanging) instanceof Error)
    assert.deepEqual(replayed.bytes, made.bytes)
    assert.equal(replayed.headers.get('idempotent-replayed'), 'true')
    assert.equal(retried.status, 200)
    assert.equal(retried.headers.get('idempotent-replayed'), null)
  })

  test('listens, answers and stops on SIGTERM although a call hangs', async (t) => {
    const { api, kill, process } = await spawnService(t, MAIN, {
      SANDBOX_PORT: '0',
      SANDBOX_DATABASE_URL: 'sqlite::memory:',
    })
    const health = await api.get('/actuator/health')
    await api.post('/sandbox/api/faults', { kind: 'hang' })
    const hanging = createCustomer(api, 'open').catch((error: Error) => error)
    await untilStruck(api)

    await kill('SIGTERM')

    assert.deepEqual(health.body, { status: 'UP' })
    assert.ok((await hanging) instanceof Error)
    assert.equal(process.exitCode, 0)
  })
})

const untilStruck = (api: Api) =>
  until(
    () => api.get('/sandbox/api/faults'),
    ({ body }) => body.faults.length === 0,
  )

const createCustomer = (api: Api, key: string) =>
  api.request('POST', '/v1/customers', {
    token: 'sk_test_x',
    headers: { 'idempotency-key': key, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'name=Jenny',
  })
