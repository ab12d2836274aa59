import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { notFound } from '../../problems.ts'
import { systemClock } from '../../runtime/clock.ts'
import { noContent } from '../routes/operations.ts'
import { createServer, type ServerOptions } from '../server.ts'

async function start(t: TestContext, options: Partial<ServerOptions> = {}) {
  const server = createServer({
    log: createLogger('test', 'silent'),
    clock: systemClock,
    ...options,
  })
  server.get('/api/users/:id', (request) => request.params)
  server.get('/missing', () => {
    throw notFound()
  })
  const listening = await listenForTest(t, server)
  const send = async (bytes: string) => {
    const socket = connect(listening.port, '127.0.0.1')
    socket.write(bytes)
    const [head = '', body = ''] = Buffer.concat(await socket.toArray())
      .toString()
      .split('\r\n\r\n')
    const [status = '', ...lines] = head.split('\r\n')
    const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]))
    return { status: Number(status.split(' ')[1]), headers, body }
  }
  return { ...listening, server, send }
}

const get = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${more}\r\n`

const LONG = 'x'.repeat(100_000)

const REQUESTS: [what: string, bytes: string, status: number][] = [
  ['a good request', get('/api/users/1'), 200],
  ['a problem', get('/missing'), 404],
  ['an unknown path', get('/none'), 404],
  ['a wrong method', get('/missing').replace('GET', 'PUT'), 405],
  ['a target that cannot be decoded', get('/%'), 400],
  ['a parameter that cannot be decoded', get('/api/users/%E0%A4%A'), 400],
  ['a long parameter', get(`/api/users/${LONG.slice(0, 15_000)}`), 200],
  ['a parameter over the limit', get(`/api/users/${LONG.slice(0, 16_385)}`), 431],
  ['an unknown expectation', get('/missing', 'Expect: a-miracle\r\n'), 404],
  ['no Host header', 'GET /missing HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['input that is not HTTP', 'nonsense\r\n\r\n', 400],
  ['headers that are too large', get('/missing', `X-Long: ${LONG}\r\n`), 431],
  [
    'two different body lengths',
    get('/missing', 'Content-Length: 1\r\nContent-Length: 2\r\n'),
    400,
  ],
]

describe('every reply has X-Request-Id, nosniff and no-store:', () => {
  for (const [what, bytes, expected] of REQUESTS)
    test(what, async (t) => {
      const { send } = await start(t, { publicUrl: 'https://app.example' })

      const { status, headers, body } = await send(bytes)

      assert.equal(status, expected)
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('x-frame-options'), 'DENY')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      assert.equal(headers.get('strict-transport-security'), 'max-age=31536000')
      if (status >= 400)
        assert.equal(JSON.parse(body).requestId, headers.get('x-request-id'), 'in the body')
    })

  test('a target that cannot be decoded keeps the given request id', async (t) => {
    const { send } = await start(t)

    const { headers } = await send(get('/%', 'X-Request-Id: abc-1\r\n'))

    assert.equal(headers.get('x-request-id'), 'abc-1')
  })

  test('and a request that is refused before it has a route is logged with its id', async (t) => {
    const lines = new PassThrough()
    const { send } = await start(t, { log: createLogger('test', 'info', lines) })
    const ids: (string | null)[] = []

    for (const bytes of [get('/%?secret=1'), 'nonsense\r\n\r\n'])
      ids.push((await send(bytes)).headers.get('x-request-id'))
    const logged = await lines
      .map(String)
      .filter((line) => line.includes('requestId'))
      .take(ids.length)
      .toArray()

    assert.deepEqual(
      logged.map((line) => JSON.parse(line)).map(({ requestId, status }) => [requestId, status]),
      ids.map((id) => [id, 400]),
    )
    assert.doesNotMatch(logged.join(), /secret/)
  })
})

test('a route answers with the only success it declares, unless it refuses', async (t) => {
  const server = createServer({ log: createLogger('test', 'silent'), clock: systemClock })
  const declaring = (...statuses: number[]) => ({
    response: Object.fromEntries(statuses.map((status) => [status, noContent])),
  })
  server.get('/created', { schema: declaring(201), handler: () => ({ id: 1 }) })
  server.get('/removed', { schema: declaring(204), handler: async () => {} })
  server.get('/several', { schema: declaring(200, 204), handler: () => [] })
  server.get('/refused', {
    schema: declaring(204),
    handler: () => {
      throw notFound()
    },
  })
  const { api } = await listenForTest(t, server)
  const answer = async (path: string) => {
    const { status, body } = await api.get(path)
    return [status, body]
  }

  assert.deepEqual(await answer('/created'), [201, { id: 1 }])
  assert.deepEqual(await answer('/removed'), [204, ''])
  assert.deepEqual(await answer('/several'), [200, []])
  assert.equal((await answer('/refused'))[0], 404)
})

describe('CORS', () => {
  const origin = 'https://app.example'
  const listed = (headers: Headers, name: string) =>
    (headers.get(`access-control-${name}-headers`) ?? '').split(', ')

  test('allows the headers that clients send: keys, conditions, ranges, stream positions, traces', async (t) => {
    const { api } = await start(t, { corsOrigins: [origin] })
    const asked = { origin, 'access-control-request-method': 'POST' }

    const { status, headers } = await api.request('OPTIONS', '/missing', { headers: asked })

    assert.equal(status, 204)
    assert.deepEqual(listed(headers, 'allow'), [
      'authorization',
      'content-type',
      'idempotency-key',
      'if-match',
      'if-modified-since',
      'if-none-match',
      'if-range',
      'if-unmodified-since',
      'last-event-id',
      'range',
      'traceparent',
      'x-api-key',
      'x-csrf-token',
      'x-request-id',
      'x-xsrf-token',
    ])
  })

  test('exposes the headers that a client needs, also on a problem', async (t) => {
    const { api } = await start(t, { corsOrigins: [origin] })

    for (const path of ['/api/users/1', '/missing']) {
      const { headers } = await api.get(path, { headers: { origin } })
      assert.deepEqual(listed(headers, 'expose'), [
        'content-disposition',
        'content-range',
        'etag',
        'link',
        'location',
        'retry-after',
        'x-request-id',
        'x-total-count',
      ])
    }
  })

  test('sends no CORS headers to an origin that is not configured', async (t) => {
    const { api } = await start(t, { corsOrigins: [origin] })

    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const reply = await api.request('OPTIONS', '/missing', { headers })

    assert.deepEqual(
      [...reply.headers.keys()].filter((name) => name.startsWith('access-control-')),
      [],
    )
  })
})
