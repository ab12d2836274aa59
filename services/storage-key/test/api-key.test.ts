import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apiFor } from '@plinth/kit/testing'
import { exchange, rawRequest } from './raw-request.ts'
import { filesIn, KEY, keyed, startStorageKey, upload } from './start-storage-key.ts'

const ENDPOINTS = [
  ['POST', '/file'],
  ['GET', '/file/list'],
  ['HEAD', '/file/list'],
  ['GET', '/file/info/a.png'],
  ['GET', '/file/a.png'],
  ['DELETE', '/file/a.png'],
  ['PUT', '/file/a.png'],
  ['PATCH', '/file'],
  ['GET', '/file'],
  ['GET', '/file/'],
  ['GET', '/file/no/such/path'],
  ['TRACE', '/file/list'],
] as const

describe('without the right key', () => {
  for (const [method, path] of ENDPOINTS)
    test(`${method} ${path} answers 401 with the text Unauthorized`, async (t) => {
      const { port } = await startStorageKey(t)

      for (const key of [null, '', 'wrong', `${KEY}x`, KEY.slice(1), KEY.toUpperCase()]) {
        const reply = await rawRequest(port, path, { method, key })

        assert.equal(reply.status, 401)
        assert.match(reply.head, /content-type: text\/plain; charset=utf-8/)
        assert.equal(reply.body, method === 'HEAD' ? '' : 'Unauthorized')
      }
    })

  test('a key in the query, sent twice, or in another header does not count', async (t) => {
    const { port } = await startStorageKey(t)
    const status = async (target: string, headers: string[]) =>
      (await rawRequest(port, target, { key: null, headers })).status

    assert.equal(await status(`/file/list?X-API-KEY=${KEY}`, []), 401)
    assert.equal(await status('/file/list', [`X-API-KEY: ${KEY}`, `X-API-KEY: ${KEY}`]), 401)
    assert.equal(await status('/file/list', [`Authorization: Bearer ${KEY}`]), 401)
  })

  for (const target of [
    '/%66ile/list',
    '/%2566ile/list',
    '/file;x=y/list',
    '/file%2Flist',
    '/file%5Clist',
    '//file/list',
    '/.//file/list',
    '/./file/list',
    '/x/../file/list',
    '/%2e/file/list',
    '/FILE/list',
    '/\\file\\list',
    '/file/../actuator/env',
    '/file/..;/actuator/health',
    '/file?x',
    'http://localhost/file/list',
    '/file/%zz',
    '/file/%ff',
  ])
    test(`${target} is 401 too`, async (t) => {
      const { port } = await startStorageKey(t)

      const reply = await rawRequest(port, target, { key: null })

      assert.equal(reply.status, 401)
      assert.equal(reply.body, 'Unauthorized')
    })

  test('an upload is refused before its body is read', async (t) => {
    const { port, root } = await startStorageKey(t)

    const reply = await exchange(
      port,
      'POST /file HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\n' +
        'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n',
    )

    assert.equal(reply.status, 401)
    assert.deepEqual(filesIn(root), { stored: [], incoming: [] })
  })

  test('a client that sends its whole body anyway can read the 401', async (t) => {
    const { anonymous } = await startStorageKey(t)

    const reply = await upload(anonymous, { content: Buffer.alloc(20 * 2 ** 20) })

    assert.equal(reply.status, 401)
  })
})

describe('with the right key', () => {
  test('the header name is not case-sensitive', async (t) => {
    const { port } = await startStorageKey(t)

    const headers = [`x-Api-kEy: ${KEY}`]

    assert.equal((await rawRequest(port, '/file/list', { key: null, headers })).status, 200)
  })

  for (const [target, status] of [
    ['/%66ile/list', 200],
    ['/file/li%73t', 200],
    ['/file/list?page=3', 200],
    ['http://localhost/file/list', 200],
    ['/file;x=y/list', 404],
    ['/file%2Flist', 404],
    ['//file/list', 404],
    ['/FILE/list', 404],
    ['/x/../file/list', 404],
  ] as const)
    test(`${target} is ${status}`, async (t) => {
      const { port } = await startStorageKey(t)

      assert.equal((await rawRequest(port, target)).status, status)
    })

  test('an error names the path of a target in absolute form', async (t) => {
    const { port } = await startStorageKey(t)

    for (const target of ['/file/none.png', '/nope']) {
      const { status, body } = await rawRequest(port, `http://localhost${target}?x`)
      assert.deepEqual([status, JSON.parse(body).path], [404, target])
    }
  })

  test('a wrong method on a known path is 405 with Allow', async (t) => {
    const { api } = await startStorageKey(t)

    const reply = await api.request('PUT', '/file/a.png')

    assert.equal(reply.status, 405)
    assert.equal(reply.headers.get('allow'), 'DELETE, GET, HEAD')
    assert.equal((await api.get('/file')).status, 405)
  })
})

describe('the development key', () => {
  test('works only when no other key is configured', async (t) => {
    const dev = 'storage-local-dev-key'
    const configured = await startStorageKey(t)
    const { baseUrl } = await startStorageKey(t, { STORAGE_KEY_API_KEY: dev })

    assert.equal((await keyed(configured.anonymous, dev).get('/file/list')).status, 401)
    assert.equal((await keyed(apiFor(baseUrl), dev).get('/file/list')).status, 200)
  })
})

describe('OPTIONS', () => {
  for (const [path, allow] of [
    ['/file', 'POST, OPTIONS'],
    ['/file/list', 'DELETE, GET, HEAD, OPTIONS'],
    ['/file/a.png', 'DELETE, GET, HEAD, OPTIONS'],
    ['/file/info/a.png', 'GET, HEAD, OPTIONS'],
    ['/', 'GET, HEAD, OPTIONS'],
    ['/actuator/health', 'GET, HEAD, OPTIONS'],
    ['/api-test/index.html', 'GET, HEAD, OPTIONS'],
    ['*', 'DELETE, GET, HEAD, POST, OPTIONS'],
  ] as const)
    test(`${path} passes without the key and allows no origin`, async (t) => {
      const { port } = await startStorageKey(t)
      const headers = ['Origin: https://evil.example', 'Access-Control-Request-Method: GET']

      const reply = await rawRequest(port, path, { method: 'OPTIONS', key: null, headers })

      assert.equal(reply.status, 200)
      assert.match(reply.head, new RegExp(`allow: ${allow.replaceAll('*', '\\*')}(\r\n|$)`))
      assert.doesNotMatch(reply.head, /access-control/i)
    })
})

describe('OPTIONS of a path that does not exist', () => {
  for (const path of [
    '/FILE/list',
    '//file/list',
    '/file%2Flist',
    '/x/../file/list',
    '/api/service-keys',
    '/api/audit',
    '/api-test/nonexistent',
    '/actuator/info',
  ])
    test(`${path} is 404 without the key`, async (t) => {
      const { port } = await startStorageKey(t)

      const reply = await rawRequest(port, path, { method: 'OPTIONS', key: null })

      assert.equal(reply.status, 404)
      assert.doesNotMatch(reply.head, /access-control/i)
    })
})

describe('GET /actuator/health', () => {
  test('is public and says nothing but UP', async (t) => {
    const { anonymous } = await startStorageKey(t)

    const reply = await anonymous.get('/actuator/health')

    assert.equal(reply.status, 200)
    assert.deepEqual(reply.body, { status: 'UP' })
  })

  for (const path of [
    '/actuator',
    '/actuator/',
    '/actuator/info',
    '/actuator/env',
    '/actuator/health/liveness',
    '/actuator/metrics',
  ])
    test(`${path} does not exist`, async (t) => {
      const { anonymous } = await startStorageKey(t)

      assert.equal((await anonymous.get(path)).status, 404)
    })
})

test('with STORAGE_KEY_ACTUATOR=full the paths are those of the other services', async (t) => {
  const { anonymous } = await startStorageKey(t, { STORAGE_KEY_ACTUATOR: 'full' })

  for (const path of ['', '/info', '/health', '/health/liveness', '/health/readiness'])
    for (const method of ['GET', 'OPTIONS'])
      assert.equal((await anonymous.request(method, `/actuator${path}`)).status, 200, path)
  assert.equal((await anonymous.get('/actuator/env')).status, 404)
})

describe('GET /api-test', () => {
  test('redirects to a public page that does not depend on the key', async (t) => {
    const one = await startStorageKey(t)
    const two = await startStorageKey(t, { STORAGE_KEY_API_KEY: 'another-secret-of-20-characters' })

    const redirect = await one.anonymous.get('/api-test')
    const pages = await Promise.all(
      [one, two].map(({ anonymous }) => anonymous.get('/api-test/index.html')),
    )

    assert.equal(redirect.status, 302)
    assert.equal(redirect.headers.get('location'), '/api-test/index.html')
    assert.match(pages[0]?.headers.get('content-type') ?? '', /^text\/html/)
    assert.ok(pages[0]?.bytes.equals(pages[1]?.bytes ?? Buffer.alloc(0)))
    assert.doesNotMatch(pages[1]?.body, /another-secret/)
  })
})
