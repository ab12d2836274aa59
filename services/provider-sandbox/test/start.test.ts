import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { spawnService } from '@plinth/kit/testing'
import { loadConfig } from '../src/index.ts'

describe('the settings', () => {
  test('start it on the loopback address', () => {
    const config = loadConfig({})

    assert.equal(config.host, 'localhost')
    assert.equal(config.port, 8085)
    assert.match(config.databaseUrl, /^sqlite:/)
  })

  test('refuse production unless it is switched on by name', () => {
    const production = { NODE_ENV: 'production' }

    assert.throws(() => loadConfig(production), /SANDBOX_ALLOW_PRODUCTION/)
    assert.ok(loadConfig({ ...production, SANDBOX_ALLOW_PRODUCTION: 'true' }))
  })

  test('refuse an endpoint without a secret and a database that is not SQLite, together', () => {
    const env = {
      SANDBOX_WEBHOOK_URL: 'http://localhost:8084/',
      SANDBOX_DATABASE_URL: 'postgres://localhost/x',
    }

    assert.throws(() => loadConfig(env), /SANDBOX_DATABASE_URL[\s\S]*SANDBOX_WEBHOOK_SECRET/)
  })
})

describe('the process', () => {
  test('listens, answers and ends when told to', async (t) => {
    const main = new URL('../src/main.ts', import.meta.url).pathname
    const { api, kill } = await spawnService(t, main, {
      SANDBOX_PORT: '0',
      SANDBOX_DATABASE_URL: 'sqlite::memory:',
    })

    const health = await api.get('/actuator/health')
    await kill('SIGTERM')

    assert.deepEqual(health.body, { status: 'UP' })
  })
})
