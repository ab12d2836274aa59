import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createServer } from '../server.ts'
import { consoleRoutes } from './console-pages.ts'

type Options = {
  built?: boolean
  path?: string
  publicUrl?: string
  about?: Parameters<typeof consoleRoutes>[3]
}

async function startConsole(t: TestContext, { built = true, ...options }: Options = {}) {
  const { path, publicUrl, about } = options
  const folder = mkdtempSync(join(tmpdir(), 'plinth-console-'))
  t.after(() => rmSync(folder, { recursive: true }))
  if (built) {
    mkdirSync(join(folder, 'dist'))
    writeFileSync(join(folder, 'dist', 'index.html'), '<!doctype html><title>Here</title>')
    writeFileSync(join(folder, 'dist', 'page.js'), 'export {}')
  }
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock, publicUrl })
  consoleRoutes(server, join(folder, 'dist'), path, about)
  return listenForTest(t, server)
}

describe('a console', () => {
  test('GET /api-test redirects to its page', async (t) => {
    const { api } = await startConsole(t)

    const reply = await api.get('/api-test')

    assert.deepEqual([reply.status, reply.headers.get('location')], [302, '/api-test/index.html'])
  })

  test('at a base path is found with and without a trailing slash, and so are its assets', async (t) => {
    const publicUrl = 'https://app.example/suite'
    const { api } = await startConsole(t, { path: '', publicUrl })

    const bare = await api.get('/suite?a=b')
    const page = await api.get('/suite/')
    const script = await api.get('/suite/page.js')

    assert.deepEqual([bare.status, bare.headers.get('location')], [302, '/suite/'])
    assert.deepEqual([page.status, script.status], [200, 200])
    assert.equal((await api.get('/')).status, 200)
  })

  test('is public HTML with a policy that allows no inline code and no other origins', async (t) => {
    const { api } = await startConsole(t)

    const { status, headers } = await api.get('/api-test/index.html')

    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
    assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/)
    assert.doesNotMatch(policy, /unsafe|\*/)
  })

  test('that signs in at an issuer may call it, and no other', async (t) => {
    const { api } = await startConsole(t, { about: { signsInAt: 'https://id.example/plinth' } })

    const { headers } = await api.get('/api-test/index.html')

    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /connect-src 'self' https:\/\/id\.example;/)
  })

  test('may call an issuer whose address browsers do not accept in a policy', async (t) => {
    const { api } = await startConsole(t, { about: { signsInAt: 'http://[::1]:8081' } })

    const { headers } = await api.get('/api-test/index.html')

    assert.match(headers.get('content-security-policy') ?? '', /connect-src 'self' http:;/)
  })

  test('opens at further names, if it has any', async (t) => {
    const { api } = await startConsole(t, { path: '/account', about: { alsoAt: ['sign-in'] } })

    const [page, other] = [await api.get('/account/sign-in'), await api.get('/account/sign-on')]

    assert.deepEqual([page.status, other.status], [200, 404])
    assert.deepEqual(page.bytes, (await api.get('/account/')).bytes)
  })

  test('is sent once and then revalidated by its ETag', async (t) => {
    const { api } = await startConsole(t)
    const first = await api.get('/api-test/page.js')

    const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
    const second = await api.get('/api-test/page.js', { headers })

    assert.deepEqual([first.status, second.status, second.bytes.length], [200, 304, 0])
  })

  test('does not serve files outside its folder', async (t) => {
    const { api } = await startConsole(t)

    const reply = await api.get('/api-test/..%2f..%2fetc%2fpasswd')

    assert.equal(reply.status, 404)
  })

  test('says what to do when it has not been built', async (t) => {
    const { api } = await startConsole(t, { built: false })

    assert.match((await api.get('/api-test/index.html')).body, /npm run prepare/)
  })
})
