import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { StartError } from '@plinth/kit/problems'
import { freePorts } from '../../test/servers/free-ports.ts'
import { until } from '../../test/until.ts'
import { loadManagement } from '../config.ts'
import { startStack } from '../stack/stack.ts'
import { checkedServices } from './checked-services.ts'
import { endOf } from './launch.ts'
import { startIdentity, workersOf } from './start-identity.ts'
import { testEnv } from './test-env.ts'

const skip = process.platform !== 'linux'

const TOKEN = 'a-token-of-twenty-or-more'

const textAt = async (port: number | undefined, headers: Record<string, string> = {}) => {
  const reply = await fetch(`http://127.0.0.1:${port}/actuator/prometheus`, { headers })
  return { status: reply.status, type: reply.headers.get('content-type'), text: await reply.text() }
}

const seriesValue = (text: string, series: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')
      .at(-1),
  )

describe('the management listener', () => {
  test('serves the metrics of every service, and the public ports serve none', async (t) => {
    const [port] = await freePorts(1)
    const { env } = await testEnv(t, { SUITE_MANAGEMENT_PORT: String(port) })
    const stack = await startStack({ env, only: checkedServices(t) })
    t.after(() => stack.close())
    const { services, landingUrl } = stack

    const { status, type, text } = await textAt(port)
    assert.equal(status, 200)
    assert.equal(type, 'text/plain; version=0.0.4; charset=utf-8')
    for (const { entry } of services)
      assert.deepEqual(
        ['http_server_active_requests', 'plinth_ready'].map((name) =>
          seriesValue(text, `${name}{service="${entry.name}"}`),
        ),
        [0, 1],
      )
    assert.equal(seriesValue(text, 'plinth_backup_failures_total{service="landing"}'), 0)
    assert.match(text, /^plinth_build_info\{version="[\d.]+",node="[\d.]+"\} 1$/m)
    for (const url of [landingUrl, ...services.map((service) => service.url)])
      assert.equal((await fetch(`${url}/actuator/prometheus`)).status, 404, url)
  })

  test('reports the readiness of every service, separately from liveness', async (t) => {
    const [port] = await freePorts(1)
    const { env } = await testEnv(t, { SUITE_MANAGEMENT_PORT: String(port) })
    const stack = await startStack({ env, only: checkedServices(t) })
    t.after(() => stack.close())
    const health = async (kind: string) => {
      const reply = await fetch(`http://127.0.0.1:${port}/actuator/health${kind}`)
      return [reply.status, await reply.json()]
    }
    const payments = stack.services.find(({ entry }) => entry.name === 'payments')?.server
    assert.ok(payments)

    assert.deepEqual(await health('/readiness'), [200, { status: 'UP' }])
    payments.draining = true

    const reason = 'payments: The service is stopping.'
    assert.deepEqual(await health('/readiness'), [503, { status: 'DOWN', reason }])
    assert.deepEqual(await health('/liveness'), [200, { status: 'UP' }])
  })

  test('a service that can only read is ready, and its state is reported apart', async (t) => {
    const [port] = await freePorts(1)
    const { env } = await testEnv(t, { SUITE_MANAGEMENT_PORT: String(port) })
    const stack = await startStack({ env, only: checkedServices(t) })
    t.after(() => stack.close())
    const payments = stack.services.find(({ entry }) => entry.name === 'payments')?.server
    assert.ok(payments)
    payments.health = async () => ({ status: 'DEGRADED', reason: 'There is no room left.' })

    const health = async (kind: string) => {
      const reply = await fetch(`http://127.0.0.1:${port}/actuator/health${kind}`)
      const body = (await reply.json()) as { status: string; reason?: string }
      return { code: reply.status, ...body }
    }
    const whole = await until(
      () => health(''),
      ({ status }) => status !== 'UP',
    )
    const others = await Promise.all(['/readiness', '/liveness'].map(health))
    const { text } = await textAt(port)

    const up = { code: 200, status: 'UP' }
    const reason = 'payments: There is no room left.'
    assert.deepEqual(whole, { code: 200, status: 'DEGRADED', reason })
    assert.deepEqual(others, [up, up])
    const of = (name: string) => seriesValue(text, `${name}{service="payments"}`)
    assert.deepEqual([of('plinth_ready'), of('plinth_degraded')], [1, 1])
    assert.equal(seriesValue(text, 'plinth_degraded{service="identity"}'), 0)
  })

  test('refuses foreign host names, and sends the usual headers with every reply', async (t) => {
    const [port = 0] = await freePorts(1)
    const { env } = await testEnv(t, { SUITE_MANAGEMENT_PORT: String(port) })
    const stack = await startStack({ env, only: checkedServices(t) })
    t.after(() => stack.close())
    const get = async (path: string, host: string) => {
      const request = httpGet({ host: '127.0.0.1', port, path, headers: { host } })
      const [reply] = (await once(request, 'response')) as [IncomingMessage]
      reply.resume()
      return reply
    }

    // DNS rebinding: a foreign site points its own host name at this machine.
    assert.equal((await get('/actuator/prometheus', 'evil.example')).statusCode, 421)
    for (const path of ['/actuator/prometheus', '/actuator/health/liveness']) {
      const { statusCode, headers } = await get(path, `localhost:${port}`)
      assert.equal(statusCode, 200, path)
      assert.match(String(headers['x-request-id']), /^[\w.-]+$/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['cache-control'], 'no-store')
    }
  })

  test('reports in one line that its port is in use', async (t) => {
    const { env } = await testEnv(t)
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    t.after(() => void taken.close())
    const { port } = taken.address() as AddressInfo

    const start = startStack({ env: { ...env, SUITE_MANAGEMENT_PORT: String(port) } })

    const message = `Port ${port} is in use. Stop what uses it, or choose another with SUITE_MANAGEMENT_PORT.`
    await assert.rejects(start, new StartError(message))
  })

  test('does not exist unless a port is set', () => {
    assert.equal(loadManagement({}), undefined)
  })

  test('requires the configured token beyond loopback', async (t) => {
    const [port] = await freePorts(1)
    const wide = { SUITE_MANAGEMENT_PORT: String(port), SUITE_MANAGEMENT_HOST: '0.0.0.0' }
    assert.throws(() => loadManagement(wide), /METRICS_TOKEN/)
    assert.throws(() => loadManagement({ ...wide, METRICS_TOKEN: 'short' }), /METRICS_TOKEN/)
    const { env } = await testEnv(t, { ...wide, METRICS_TOKEN: TOKEN })
    const stack = await startStack({ env, only: checkedServices(t) })
    t.after(() => stack.close())

    assert.equal((await textAt(port)).status, 401)
    assert.equal((await textAt(port, { authorization: 'Bearer of-something-else' })).status, 401)
    assert.equal((await textAt(port, { authorization: `Bearer ${TOKEN}` })).status, 200)
    const backups = `http://127.0.0.1:${port}/actuator/health/backup`
    assert.equal((await fetch(backups)).status, 401)
    const known = await fetch(backups, { headers: { authorization: `Bearer ${TOKEN}` } })
    assert.deepEqual([known.status, await known.json()], [200, { status: 'UNKNOWN', details: {} }])
  })

  test('sums the counters of all processes, including those of a dead one', {
    skip,
  }, async (t) => {
    const [port] = await freePorts(1)
    const overrides = { WORKERS: '2', SUITE_MANAGEMENT_PORT: String(port) }
    const { child, baseUrl } = await startIdentity(t, overrides)
    const refused =
      'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/api/users/me",http_response_status_code="401",service="identity"}'
    const counted = async () => seriesValue((await textAt(port)).text, refused)
    const ask = async () => {
      for (let index = 0; index < 20; index++)
        await fetch(`${baseUrl}/api/users/me`, { headers: { connection: 'close' } })
    }
    await ask()
    await until(counted, (count) => count === 20)
    const [gone = 0] = await workersOf(child, 2)

    process.kill(gone, 'SIGKILL')
    await workersOf(child, 2, gone)
    assert.equal(await counted(), 20)
    await ask()
    await until(counted, (count) => count === 40)

    const memoryOf = (worker: number) => `process_resident_memory_bytes{worker="${worker}"}`
    await until(
      () => textAt(port),
      ({ text }) => [1, 2].every((worker) => seriesValue(text, memoryOf(worker)) > 0),
    )
    assert.equal((await fetch(`http://127.0.0.1:${port}/actuator/health/readiness`)).status, 200)
    child.kill('SIGTERM')
    await endOf(child)
  })
})
