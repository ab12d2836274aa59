import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createServer } from '../server.ts'
import { consoleRoutes } from './console-pages.ts'
import { indexRoute } from './service-index.ts'
import { actuatorRoutes } from './standard.routes.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

const ABOUT = { name: 'example', version: '1.2.3' }

type Options = { publicUrl?: string; console?: boolean; corsOrigins?: string[] }

async function startService(t: TestContext, { console = true, ...options }: Options = {}) {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock, ...options })
  actuatorRoutes(server, { ...ABOUT, healthy: async () => true })
  if (console) consoleRoutes(server, '/nowhere')
  indexRoute(server, ABOUT)
  return listenForTest(t, server)
}

describe('the root of a service', () => {
  test('redirects a browser to the console', async (t) => {
    const { api } = await startService(t)

    const { status, headers } = await api.get('/', { headers: BROWSER })

    assert.deepEqual([status, headers.get('location')], [302, '/api-test/'])
    assert.equal(headers.get('vary'), 'accept')
  })

  test('depends on the origin, too, where origins are configured', async (t) => {
    const { api } = await startService(t, { corsOrigins: ['https://app.example'] })

    const { headers } = await api.get('/')

    assert.equal(headers.get('vary'), 'origin, accept')
  })

  test('redirects a browser below a base path, with and without a trailing slash', async (t) => {
    const { api } = await startService(t, { publicUrl: 'https://app.example/example' })

    for (const address of ['/example', '/example/']) {
      const { status, headers } = await api.get(address, { headers: BROWSER })
      const location = headers.get('location')
      assert.deepEqual([status, location], [302, '/example/api-test/'], address)
    }
  })

  test('gives a program the name, the version and links', async (t) => {
    const { api, baseUrl: url } = await startService(t)

    for (const accept of ['*/*', 'application/json']) {
      const reply = await api.get('/', { headers: { accept } })
      const links = { console: `${url}/api-test`, health: `${url}/actuator/health` }
      assert.deepEqual([reply.status, reply.body], [200, { ...ABOUT, links }], accept)
    }
  })

  test('gives a browser the same if no console is served', async (t) => {
    const { api, baseUrl: url } = await startService(t, { console: false })

    const reply = await api.get('/', { headers: BROWSER })

    const links = { health: `${url}/actuator/health` }
    assert.deepEqual([reply.status, reply.body], [200, { ...ABOUT, links }])
  })
})
