import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { listenForTest } from '../../testing/listen.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/logging.ts'
import { createServer } from './server.ts'
import { consoleRoutes } from './standard-routes.ts'

async function startConsole(t: TestContext, built = true) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-console-'))
  t.after(() => rmSync(folder, { recursive: true }))
  if (built) {
    mkdirSync(join(folder, 'dist'))
    writeFileSync(join(folder, 'dist', 'index.html'), '<!doctype html><title>Here</title>')
    writeFileSync(join(folder, 'dist', 'page.js'), 'export {}')
  }
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock })
  consoleRoutes(server, join(folder, 'dist'))
  return listenForTest(t, server)
}

describe('a console', () => {
  test('GET /api-test redirects to its page', async (t) => {
    const { api } = await startConsole(t)

    const reply = await api.get('/api-test')

    assert.deepEqual([reply.status, reply.headers.get('location')], [302, '/api-test/index.html'])
  })

  test('is public HTML under a policy without inline code or other origins', async (t) => {
    const { api } = await startConsole(t)

    const { status, headers } = await api.get('/api-test/index.html')

    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
    assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/)
    assert.doesNotMatch(policy, /unsafe|\*/)
  })

  test('is sent once and then confirmed by its ETag', async (t) => {
    const { api } = await startConsole(t)
    const first = await api.get('/api-test/page.js')

    const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
    const second = await api.get('/api-test/page.js', { headers })

    assert.deepEqual([first.status, second.status, second.bytes.length], [200, 304, 0])
  })

  test('has no way out of its folder', async (t) => {
    const { api } = await startConsole(t)

    const reply = await api.get('/api-test/..%2f..%2fetc%2fpasswd')

    assert.equal(reply.status, 404)
  })

  test('says what to do when it has not been built', async (t) => {
    const { api } = await startConsole(t, false)

    assert.match((await api.get('/api-test/index.html')).body, /npm run prepare/)
  })
})
