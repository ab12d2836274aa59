import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { databaseUnavailable, storageFull } from '../../problems.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createServer } from '../server.ts'
import { type HealthCheck, healthProbe, worstOf } from './health.ts'
import { actuatorRoutes } from './standard.routes.ts'

const READINESS = '/actuator/health/readiness'

async function startActuator(t: TestContext, healthy: HealthCheck, discovery?: boolean) {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock })
  actuatorRoutes(server, { name: 'test', version: '2.0.0', healthy, discovery })
  return { server, ...(await listenForTest(t, server)) }
}

const up = async () => true

describe('the actuator', () => {
  test('links to its endpoints under the URL that the caller used', async (t) => {
    const { api, baseUrl } = await startActuator(t, up)

    const { body } = await api.get('/actuator')

    assert.deepEqual(body, {
      _links: {
        self: { href: `${baseUrl}/actuator`, templated: false },
        health: { href: `${baseUrl}/actuator/health`, templated: false },
        'health-path': { href: `${baseUrl}/actuator/health/{*path}`, templated: true },
        info: { href: `${baseUrl}/actuator/info`, templated: false },
      },
    })
  })

  test('reports UP, and the name and version', async (t) => {
    const { api } = await startActuator(t, up)

    assert.deepEqual((await api.get('/actuator/health')).body, { status: 'UP' })
    assert.deepEqual((await api.get('/actuator/info')).body, {
      app: { name: 'test', version: '2.0.0' },
    })
  })

  test('reports DOWN with 503 when a dependency fails, but stays alive', async (t) => {
    const { api } = await startActuator(t, () => Promise.reject(new Error('no database')))

    const health = await api.get('/actuator/health')
    const liveness = await api.get('/actuator/health/liveness')

    assert.deepEqual([health.status, health.body], [503, { status: 'DOWN' }])
    assert.deepEqual([liveness.status, liveness.body], [200, { status: 'UP' }])
  })

  test('reports the worst of several checks, with its reason', async (t) => {
    const full = () => Promise.reject(storageFull())
    const down = () => Promise.reject(databaseUnavailable())
    const { api } = await startActuator(t, worstOf(up, full))

    const [degraded, ready] = [await api.get('/actuator/health'), await api.get(READINESS)]
    const both = await worstOf(full, down, up)()

    assert.deepEqual(degraded.body, { status: 'DEGRADED', reason: storageFull().message })
    assert.deepEqual([degraded.status, ready.status, ready.body], [200, 200, { status: 'UP' }])
    assert.deepEqual(both, { status: 'DOWN', reason: databaseUnavailable().message })
  })

  test('is up while its first check is slow, and down when a check hangs', async (t) => {
    const { promise: never } = Promise.withResolvers<boolean>()
    const { api } = await startActuator(t, () => never)
    const probe = healthProbe(() => never, { hungMs: 400 })

    const [first, ...asked] = await Promise.all([api.get('/actuator/health/readiness'), probe()])
    const second = await probe()

    assert.deepEqual([first.status, asked], [200, [{ status: 'UP' }]])
    const reason = 'A dependency did not answer in time.'
    assert.deepEqual(second, { status: 'DOWN', reason })
  })

  test('checks once a second, however often it is called', async (t) => {
    let [now, checks] = [5000, 0]
    t.mock.method(performance, 'now', () => now)
    const probe = healthProbe(async () => {
      checks += 1
      return true
    })

    for (let asked = 0; asked < 20; asked++) await Promise.all([probe(), probe()])
    const first = checks
    now += 1000
    await probe()

    assert.deepEqual([first, checks], [1, 2])
  })

  test('is not ready while it drains', async (t) => {
    const { api, server } = await startActuator(t, up)
    const before = await api.get('/actuator/health/readiness')
    server.draining = true

    const after = await api.get('/actuator/health/readiness')

    assert.deepEqual([before.status, after.status], [200, 503])
  })

  test('shows nothing but health when discovery is off', async (t) => {
    const { api } = await startActuator(t, up, false)

    const statuses = await Promise.all(
      ['', '/info', '/health/liveness', '/env', '/health'].map(
        async (path) => (await api.get(`/actuator${path}`)).status,
      ),
    )

    assert.deepEqual(statuses, [404, 404, 404, 404, 200])
  })
})
