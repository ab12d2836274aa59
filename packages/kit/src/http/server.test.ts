import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { until } from '../../../../test/until.ts'
import { listenForTest } from '../../testing/listen.ts'
import { acceptUploads, receiveUpload } from '../files/upload.ts'
import { createLogger } from '../logging.ts'
import { defineProblem } from '../problems.ts'
import { systemClock } from '../runtime/clock.ts'
import { callerGuard } from './guards.ts'
import { emailText, requiredText, Type } from './schema.ts'
import { inScope } from './scope.ts'
import { createServer, type ServerOptions } from './server.ts'

const teapot = defineProblem('TEAPOT', 418, 'Short and stout.')

const guard = callerGuard(async (token) =>
  token === 'good'
    ? { userId: '1', username: 'alice', roles: ['ROLE_USER'], sessionId: 's' }
    : undefined,
)

async function startServer(t: TestContext, options: Partial<ServerOptions> = {}) {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock, ...options })
  const body = Type.Object({
    name: requiredText({ maxLength: 5 }),
    email: emailText(),
    age: Type.Integer(),
  })
  server.post('/people', { schema: { body }, handler: ({ body: person }) => person })
  server.get('/me', { onRequest: guard.caller, handler: ({ caller }) => caller.username })
  server.post('/admin', {
    onRequest: guard.role('ROLE_ADMIN'),
    schema: { body },
    handler: () => 'ok',
  })
  server.post('/bell', () => 'ding')
  server.get('/slow', () => setTimeout(100, 'at last'))
  inScope(server, (scope) => {
    acceptUploads(scope)
    scope.post('/upload', { config: { receivesUpload: true } }, async ({ raw }, reply) => {
      const limits = { folder: tmpdir(), maxFileBytes: 1, maxRequestBytes: 1 }
      await using upload = await receiveUpload(raw, reply.raw, limits)
      return upload.filename
    })
  })
  server.get('/teapot', () => {
    throw teapot({ extra: { handle: 'left' } })
  })
  server.get('/bug', () => {
    throw new Error('password=hunter2')
  })
  return listenForTest(t, server)
}

async function startServerWithoutUploads(t: TestContext, options: Partial<ServerOptions>) {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock, ...options })
  server.get('/plain', () => 'plain')
  server.post('/guarded', { onRequest: guard.caller, handler: () => 'ok' })
  return listenForTest(t, server)
}

const PERSON = { name: 'Ada', email: 'ada@localhost', age: 36 }

describe('a server of the kit', () => {
  test('exposes the 429 counter of each route from the start, with 0', async () => {
    const server = createServer({ log: createLogger('test', 'silent'), clock: systemClock })
    const problems = [teapot, defineProblem('TOO_MANY', 429, 'Slow down.')]
    server.get('/tea', { schema: { problems }, handler: () => 'tea' })

    const families = await server.metrics.read()
    const limited = families.find(({ name }) => name === 'plinth_rate_limited_total')
    assert.deepEqual(limited?.samples, [{ labels: { rule: 'TOO_MANY' }, value: 0 }])
  })

  test('answers a problem as RFC 9457 with its code, extras and the request id', async (t) => {
    const { api } = await startServer(t)

    const reply = await api.get('/teapot?x=1', { headers: { 'x-request-id': 'abc-1' } })

    assert.equal(reply.status, 418)
    assert.equal(reply.headers.get('content-type'), 'application/problem+json')
    assert.deepEqual(reply.body, {
      type: 'about:blank',
      title: "I'm a Teapot",
      status: 418,
      detail: 'Short and stout.',
      instance: '/teapot',
      code: 'TEAPOT',
      requestId: 'abc-1',
      handle: 'left',
    })
  })

  test('hides the message of an unexpected error', async (t) => {
    const { api } = await startServer(t)

    const reply = await api.get('/bug')

    assert.equal(reply.status, 500)
    assert.equal(reply.body.code, 'INTERNAL_ERROR')
    assert.doesNotMatch(reply.bytes.toString(), /hunter2/)
  })

  test('lists every faulty field at once', async (t) => {
    const { api } = await startServer(t)

    const reply = await api.post('/people', { name: '  ', email: 'not-an-email', age: '5' })

    assert.equal(reply.status, 400)
    assert.equal(reply.body.code, 'VALIDATION_ERROR')
    assert.deepEqual(reply.body.errors.sort(), [
      'age: must be an integer',
      'email: must be an e-mail address',
      'name: must not be blank',
    ])
  })

  for (const [what, bytes] of [
    ['malformed JSON', '{"name":'],
    ['an absent body', ''],
    ['a JSON array', '[]'],
    ['a huge number', '{"name":"Ada","email":"a@b","age":1e400}'],
    ['a fraction', '{"name":"Ada","email":"a@b","age":1.5}'],
    [
      'a member that is present only on the prototype',
      '{"__proto__":{"age":1},"name":"Ada","email":"a@b"}',
    ],
  ] as const)
    test(`refuses ${what} with 400`, async (t) => {
      const { api } = await startServer(t)

      const headers = { 'content-type': 'application/json' }
      const reply = await api.request('POST', '/people', { headers, body: bytes })

      assert.equal(reply.status, 400)
      assert.equal(reply.headers.get('content-type'), 'application/problem+json')
    })

  test('ignores members it does not know', async (t) => {
    const { api } = await startServer(t)

    const reply = await api.post('/people', { ...PERSON, extra: true })

    assert.equal(reply.status, 200)
  })

  for (const odd of ['"__proto__":{"x":1}', '"constructor":{"prototype":{"x":1}}'])
    test(`leaves ${odd} out of the body`, async (t) => {
      const { api } = await startServer(t)

      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify(PERSON).replace('{', `{${odd},`)
      const reply = await api.request('POST', '/people', { headers, body })

      assert.equal(reply.status, 200)
      assert.deepEqual(reply.body, PERSON)
      assert.equal(({} as { x?: unknown }).x, undefined)
    })

  test('refuses another media type with 415, and a body over 1 MiB with 413', async (t) => {
    const { api } = await startServer(t)

    const headers = { 'content-type': 'text/plain' }
    const wrongType = await api.request('POST', '/people', { headers, body: 'hello' })
    const tooLarge = await api.post('/people', { ...PERSON, extra: 'x'.repeat(2 ** 20) })

    assert.deepEqual([wrongType.status, wrongType.body.status], [415, 415])
    assert.deepEqual([tooLarge.status, tooLarge.body.status], [413, 413])
  })

  for (const [path, type] of [
    ['/people', 'application/json'],
    ['/upload', 'multipart/form-data; boundary=b'],
  ] as const)
    test(`refuses a gzip body of ${type} with 415, and treats identity as no encoding`, async (t) => {
      const { api } = await startServer(t)
      const send = (encoding: string, body: Uint8Array) =>
        api.request('POST', path, {
          headers: { 'content-type': type, 'content-encoding': encoding },
          body,
        })
      const person = Buffer.from(JSON.stringify(PERSON))

      const packed = await send('gzip', gzipSync(person))
      const plain = await send('identity', person)

      assert.deepEqual([packed.status, packed.body.code], [415, 'UNSUPPORTED_MEDIA_TYPE'])
      assert.equal(packed.headers.get('accept-encoding'), 'identity')
      assert.notEqual(plain.status, 415)
    })

  test('answers an unknown path with 404 and a wrong method with 405 and Allow', async (t) => {
    const { api } = await startServer(t)

    const unknown = await api.get('/nowhere')
    const wrongMethod = await api.delete('/people')

    assert.deepEqual([unknown.status, unknown.body.code], [404, 'NOT_FOUND'])
    assert.deepEqual([wrongMethod.status, wrongMethod.headers.get('allow')], [405, 'POST'])
  })

  for (const [what, body] of [
    ['malformed', '{"name":'],
    ['too large', `{"name":"${'x'.repeat(2 ** 20)}"}`],
  ] as const)
    test(`answers 404 and 405 even when the body is ${what}`, async (t) => {
      const { api } = await startServer(t)
      const headers = { 'content-type': 'application/json' }

      const unknown = await api.request('POST', '/nowhere', { headers, body })
      const wrongMethod = await api.request('PUT', '/people', { headers, body })

      assert.deepEqual([unknown.status, wrongMethod.status], [404, 405])
      assert.equal(wrongMethod.headers.get('allow'), 'POST')
    })

  test('treats an empty form as no body', async (t) => {
    const { api } = await startServer(t)
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=ISO-8859-1' }

    const needless = await api.request('POST', '/bell', { headers })
    const needed = await api.request('POST', '/people', { headers })
    const form = await api.request('POST', '/bell', { headers, body: 'a=b' })

    assert.deepEqual([needless.status, needed.status, form.status], [200, 400, 415])
  })

  test('does not log a client that disconnects as a server error', async (t) => {
    const lines = new PassThrough()
    const { api, port } = await startServer(t, { log: createLogger('test', 'info', lines) })
    const socket = connect(port, '127.0.0.1')
    socket.write('POST /people HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
    socket.end('Content-Length: 100\r\n\r\n{"name":')
    await socket.toArray()
    await api.get('/teapot')

    const ofRequests = lines.filter((line) => /requestId/.test(line))
    const [first] = await ofRequests.take(1).toArray()

    assert.match(String(first), /"level":30/)
  })

  test('authenticates the caller before it checks the body', async (t) => {
    const { api } = await startServer(t)

    const headers = { 'content-type': 'text/plain' }
    const nobody = await api.request('POST', '/admin', { headers, body: 'x' })
    const stranger = await api.get('/me', { token: 'bad' })
    const user = await api.request('POST', '/admin', { headers, body: 'x', token: 'good' })

    assert.equal(nobody.status, 401)
    assert.equal(nobody.headers.get('www-authenticate'), 'Bearer')
    assert.equal(stranger.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
    assert.deepEqual([user.status, user.body.code], [403, 'ACCESS_DENIED'])
  })

  test('sends the security headers and replaces an invalid request id', async (t) => {
    const { api } = await startServer(t)

    const { headers } = await api.get('/teapot', { headers: { 'x-request-id': 'a b<script>' } })

    assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('access-control-allow-origin'), null)
  })

  test('answers a path that cannot be decoded with a problem', async (t) => {
    const { api } = await startServer(t)

    const reply = await api.get('/people/%zz')

    assert.equal(reply.status, 400)
    assert.equal(reply.headers.get('content-type'), 'application/problem+json')
  })

  for (const connection of ['keep-alive', 'close'])
    test(`lets a client that sends far too much read the 413 (${connection})`, async (t) => {
      const { port } = await startServer(t)
      const socket = connect(port, '127.0.0.1')
      const size = 30 * 2 ** 20
      socket.write(`POST /people HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n`)
      socket.write(`Content-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`)
      await new Promise((resolve) => socket.write(Buffer.alloc(size, ' '), resolve))
      socket.end()

      const chunks = await socket.toArray()

      assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 413 .*BODY_TOO_LARGE/s)
    })

  for (const [path, type, status] of [
    ['/people', 'application/json', 400],
    ['/bell', 'application/json', 200],
    ['/bell', 'application/x-www-form-urlencoded', 200],
    ['/bell', 'text/xml', 415],
    ['/bell', 'garbage', 200],
    ['/bell', '', 200],
    ['/people', ';;;', 400],
    ['/upload', 'multipart/form-data; boundary=b', 400],
  ] as const)
    test(`answers a POST of ${type} to ${path} that announces no body: ${status}`, async (t) => {
      const { port } = await startServer(t)
      const socket = connect(port, '127.0.0.1')
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`)
      socket.write(`Content-Type: ${type}\r\n\r\n`)

      const chunks = await socket.toArray()

      assert.match(Buffer.concat(chunks).toString(), new RegExp(`^HTTP/1\\.1 ${status} `))
    })

  test('survives a refused request whose unfinished body finds no room left', async (t) => {
    const server = createServer({ log: createLogger('test', 'silent'), clock: systemClock })
    const room = 64 * 2 ** 20
    server.post('/big', { bodyLimit: room, handler: () => 'ok' })
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<string>()
    server.get('/held', () => {
      reached.resolve()
      return released.promise
    })
    const { port, api } = await listenForTest(t, server)
    const filling = connect(port, '127.0.0.1')
    t.after(() => filling.destroy())
    filling.write('POST /big HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
    filling.write(`Content-Length: ${room}\r\n\r\n{`)
    // The room is taken once it is refused to another request.
    const json = { 'content-type': 'application/json' }
    const isFull = async () => {
      const late = connect(port, '127.0.0.1')
      late.write('POST /big HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
      late.write('Connection: close\r\nContent-Length: 2\r\n\r\n{')
      const [answer = ''] = await late.take(1).toArray()
      return String(answer)
    }
    await until(isFull, (answer) => answer.includes('TOO_MANY_UNFINISHED_REQUESTS'))

    const socket = connect(port, '127.0.0.1')
    socket.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\nPOST /big HTTP/1.1\r\nHost: x\r\n')
    socket.write('Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nx')
    await reached.promise
    // By the next answer the refused request has been looked at.
    assert.equal((await api.request('POST', '/big', { headers: json, body: '{}' })).status, 200)
    released.resolve('done')
    const answers = Buffer.concat(await socket.toArray()).toString()

    assert.deepEqual(answers.match(/(?<=HTTP\/1\.1 )\d+/g), ['200', '415'])
  })

  test('answers pipelined requests in order', async (t) => {
    const { port } = await startServer(t)
    const socket = connect(port, '127.0.0.1')
    const person = JSON.stringify(PERSON)
    socket.write('GET /teapot HTTP/1.1\r\nHost: x\r\n\r\nPOST /people HTTP/1.1\r\nHost: x\r\n')
    socket.write('Content-Type: application/json\r\n')
    socket.write(`Content-Length: ${person.length}\r\n\r\n${person}`)
    socket.write('GET /missing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')

    const answers = Buffer.concat(await socket.toArray()).toString()

    assert.deepEqual(answers.match(/(?<=HTTP\/1\.1 )\d+/g), ['418', '200', '404'])
  })

  test('does not write into an answer that has begun when the next request is broken', async (t) => {
    const server = createServer({ log: createLogger('test', 'silent'), clock: systemClock })
    const never = new Promise<void>(() => {})
    server.get('/slow', async (_request, reply) => {
      const part = Readable.from([Buffer.from('first part'), never])
      return reply.header('content-length', '10000').send(part)
    })
    await server.listen({ port: 0, host: '127.0.0.1' })
    t.after(() => server.close())
    const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
    const received = text(socket)
    socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(
      async () => socket.bytesRead,
      (bytes) => bytes > 0,
    )
    socket.write('NONSENSE\r\n\r\n')

    const answer = await received

    assert.doesNotMatch(answer, / 400 /)
    assert.match(answer, /first part/)
  })

  test('authenticates the caller again when the body arrives later than its headers', async (t) => {
    const server = createServer({ log: createLogger('test', 'silent'), clock: systemClock })
    const asked = Promise.withResolvers<void>()
    const valid = new Set(['ends', 'stays'])
    let checks = 0
    const { caller } = callerGuard(async (token) => {
      checks += 1
      setImmediate(asked.resolve)
      const known = { userId: '1', username: token, roles: [], sessionId: 's' }
      return valid.has(token) ? known : undefined
    })
    const served: string[] = []
    server.post('/', {
      onRequest: caller,
      handler: (request) => served.push(request.caller.username),
    })
    const { port } = await listenForTest(t, server)
    const hold = (token: string) => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`)
      socket.write(
        'Connection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n',
      )
      return socket
    }
    const statusOf = async (socket: ReturnType<typeof hold>) =>
      Buffer.concat(await socket.toArray())
        .toString()
        .split(' ')[1]
    const held = hold('ends')
    await asked.promise

    valid.delete('ends')
    held.write('{}')
    assert.equal(await statusOf(held), '401')

    const together = connect(port, '127.0.0.1')
    const head =
      'POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stays\r\nConnection: close\r\n'
    checks = 0
    together.write(`${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`)
    assert.equal(await statusOf(together), '200')
    assert.deepEqual({ served, checks }, { served: ['stays'], checks: 1 })
  })

  test('cuts off a body that arrives too slowly, with 408', async (t) => {
    const { port } = await startServer(t, { bodyDeadlineMs: 50 })
    const socket = connect(port, '127.0.0.1')
    socket.write('POST /people HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
    socket.write('Content-Length: 100\r\n\r\n{"name":')

    const chunks = await socket.toArray()

    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 408 .*REQUEST_TIMEOUT/s)
  })

  test('answers when a body that it does not read never arrives', async (t) => {
    const { port } = await startServer(t, { bodyDeadlineMs: 1 })
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n')
    socket.write('Content-Length: 100\r\n\r\n{"name":')

    const chunks = await socket.toArray()

    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 200 .*at last/s)
  })

  for (const [what, line, status, type = 'text/plain'] of [
    ['a GET', 'GET /plain', 200],
    ['a target that cannot be decoded', 'GET /%zz', 400],
    ['a caller who was refused', 'POST /guarded', 401],
    ['a request that claims to be an upload', 'GET /plain', 200, 'multipart/form-data'],
  ] as const)
    test(`does not wait for ever for the rest of a body after the answer to ${what}`, async (t) => {
      const { port } = await startServerWithoutUploads(t, { bodyDeadlineMs: 50 })
      const socket = connect(port, '127.0.0.1')
      socket.write(`${line} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n`)
      socket.write('Content-Length: 10\r\n\r\n12345')

      const chunks = await socket.toArray()

      assert.match(Buffer.concat(chunks).toString(), new RegExp(`^HTTP/1\\.1 ${status} `))
    })

  test('shares its replies only with configured origins', async (t) => {
    const { api } = await startServer(t, { corsOrigins: ['https://app.example'] })
    const from = (origin: string) => ({ headers: { origin } })
    const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' }

    const friend = await api.get('/teapot', from('https://app.example'))
    const stranger = await api.get('/teapot', from('https://evil.example'))
    const asked = await api.request('OPTIONS', '/people', { headers: preflight })

    assert.equal(friend.headers.get('access-control-allow-origin'), 'https://app.example')
    assert.equal(stranger.headers.get('access-control-allow-origin'), null)
    assert.equal(asked.status, 204)
  })

  test('answers input that is not HTTP with 400 and closes the connection', async (t) => {
    const { port } = await startServer(t)
    const socket = connect(port, '127.0.0.1')
    socket.write('nonsense\r\n\r\n')

    const chunks = await socket.toArray()

    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 400 Bad Request\r\n/)
  })
})

test('an error of the system is logged once for all requests that meet it, a bug each time', async (t) => {
  const lines: string[] = []
  const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
  const server = createServer({ log, clock: systemClock })
  server.get('/broken-disk', () => open(`${import.meta.filename}/none`))
  server.get('/bug', () => {
    throw new Error('a bug')
  })
  const { api } = await listenForTest(t, server)
  const ask = (path: string) => Promise.all(Array.from({ length: 20 }, () => api.get(path)))

  const replies = [...(await ask('/broken-disk')), ...(await ask('/bug'))]
  log.outages.close()

  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [500])
  const seen = lines.map((line) => JSON.parse(line))
  const errors = seen.filter(({ level }) => level >= 50).map(({ err }) => err.code ?? err.message)
  assert.deepEqual(errors, ['ENOTDIR', ...Array.from({ length: 20 }, () => 'a bug')])
  assert.equal(seen.find(({ state }) => state === 'INTERNAL_ERROR ENOTDIR').failures, 20)
})
