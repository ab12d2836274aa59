import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { until } from '../../../../../test/until.ts'
import { listenForTest, testClock } from '../../../testing/index.ts'
import { createLogger } from '../../logging.ts'
import { actuatorRoutes } from '../routes/standard.routes.ts'
import { Type } from '../schema.ts'
import { createServer, type ServerOptions } from '../server.ts'

describe('a foreign host name that points at this machine (DNS rebinding)', () => {
  test('is 421 if the service listens on loopback only', async (t) => {
    const { status } = await start(t, { host: 'localhost' })

    assert.equal(await status('evil.example'), 421)
    assert.equal(await status('localhost.evil.example'), 421)
    assert.equal(await status('127.0.0.1.evil.example'), 421)
    assert.equal(await status(''), 421)
  })

  test('is not confused with loopback names, the public URL and allowed names', async (t) => {
    const options = { publicUrl: 'https://app.example/identity', allowedHosts: ['Box.Example'] }
    const { status } = await start(t, { host: '127.0.0.1', ...options })

    for (const host of ['localhost', 'LOCALHOST:8081', '127.0.0.1:1', '[::1]:8081', 'a.localhost'])
      assert.equal(await status(host), 200, host)
    for (const host of ['app.example', 'app.example:443', 'box.example', 'app.example.'])
      assert.equal(await status(host), 200, host)
  })

  test('is accepted if the service listens beyond loopback and allows no specific names', async (t) => {
    const { status } = await start(t, { host: '0.0.0.0' })

    assert.equal(await status('any.example'), 200)
  })

  test('is 421 if the service listens beyond loopback and allows specific names', async (t) => {
    const { status } = await start(t, { host: '0.0.0.0', allowedHosts: ['app.example'] })

    assert.equal(await status('any.example'), 421)
    assert.equal(await status('app.example'), 200)
  })

  test('is accepted from a trusted proxy', async (t) => {
    const { status } = await start(t, { host: 'localhost', trustedProxies: ['loopback'] })

    assert.equal(await status('app.example'), 200)
  })

  test('is accepted for health checks', async (t) => {
    const { status } = await start(t, { host: 'localhost' })

    assert.equal(await status('10.0.0.7', '/actuator/health'), 200)
    assert.equal(await status('10.0.0.7', '/actuator/health?probe=1'), 200)
    assert.equal(await status('10.0.0.7', '/actuator/health/readiness'), 200)
    assert.equal(await status('10.0.0.7', '/actuator/info'), 421)
  })

  test('two Host headers are 400', async (t) => {
    const { ask } = await start(t, { host: 'localhost' })

    const reply = await ask('GET / HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\n\r\n')

    assert.match(reply, /^HTTP\/1\.1 400 /)
    assert.match(reply, /AMBIGUOUS_HOST/)
  })

  test('no Host header is 400 in HTTP/1.1, and accepted in HTTP/1.0', async (t) => {
    const { ask } = await start(t, { host: 'localhost' })

    const reply = await ask('GET / HTTP/1.1\r\nConnection: close\r\n\r\n')
    const older = await ask('GET /actuator/health HTTP/1.0\r\n\r\n')

    assert.match(reply, /^HTTP\/1\.1 400 /)
    assert.match(reply, /MISSING_HOST/)
    assert.match(older, /^HTTP\/1\.1 200 /)
  })
})

describe('connections', () => {
  test('of one address are limited', async (t) => {
    const { open, isAnswered } = await start(t, { maxConnectionsPerAddress: 2 })
    const first = await open()
    const second = await open()

    assert.equal(await isAnswered(await open()), false)
    assert.equal(await isAnswered(second), true)
    await closed(second)
    await until(async () => isAnswered(await open()))
    first.destroy()
  })

  test('of a /48 are limited, however many of its addresses are used, and leave room for others', async (t) => {
    const { arrive } = await start(t, { maxConnectionsPerAddress: 2 })
    const isOpen = (address: string) => !arrive(address).destroyed

    const sameNetwork = [1, 2, 3].map((n) => isOpen(`2001:db8:bad:1::${n}`))
    const sameSite = Array.from({ length: 20 }, (_, n) => isOpen(`2001:db8:bad:${n + 2}00::1`))

    assert.deepEqual(sameNetwork, [true, true, false])
    assert.equal(sameSite.filter((open) => open).length, 6)
    assert.equal(isOpen('2001:db8:900d::1'), true)
  })

  test('of the whole process are limited, those of a trusted proxy included', async (t) => {
    const limits = { maxConnections: 1, maxConnectionsPerAddress: 1, trustedProxies: ['loopback'] }
    const { open, isAnswered } = await start(t, limits)
    const held = await open()

    assert.equal(await isAnswered(await open()), false)
    assert.equal(await isAnswered(held), true)
  })

  test('of a trusted proxy are exempt from the limit per address', async (t) => {
    const limits = { maxConnectionsPerAddress: 1, trustedProxies: ['127.0.0.0/8'] }
    const { open, isAnswered } = await start(t, limits)
    const held = await open()

    assert.equal(await isAnswered(await open()), true)
    held.destroy()
  })
})

describe('bodies', () => {
  test('over 128 KiB are 413', async (t) => {
    const { api } = await start(t)
    const body = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) })

    assert.equal((await api.post('/echo', body(128 * 1024))).status, 200)
    assert.equal((await api.post('/echo', body(128 * 1024 + 1))).status, 413)
  })

  test('that are not UTF-8 are 400: two texts must not become one', async (t) => {
    const { api } = await start(t)
    const body = Buffer.from([...Buffer.from('{"a":"x'), 0xff, ...Buffer.from('"}')])

    const headers = { 'content-type': 'application/json' }
    const refused = await api.request('POST', '/echo', { body, headers })

    assert.deepEqual([refused.status, refused.body.code], [400, 'MALFORMED_BODY'])
    assert.equal(refused.body.detail, 'The body is not valid UTF-8.')
  })

  test('nested more than 32 levels deep are 400, and brackets in a string do not count', async (t) => {
    const { api } = await start(t)
    const post = (body: string) =>
      api.request('POST', '/echo', { body, headers: { 'content-type': 'application/json' } })
    const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`

    assert.equal((await post(nested(31))).status, 200)
    const refused = await post(nested(32))
    assert.deepEqual([refused.status, refused.body.code], [400, 'MALFORMED_BODY'])
    assert.equal((await post(JSON.stringify({ text: '[{"'.repeat(1000) }))).status, 200)
    assert.equal((await post(`{"text":"${'\\"'.repeat(60_000)}`)).status, 400)
  })

  test('of 115 KB that arrive together are read one per turn, so that others are answered in between', async (t) => {
    const log = createLogger('test', 'silent')
    const server = createServer({ log, clock: testClock() })
    const readIn: number[] = []
    let turn = 0
    server.post('/read', async () => void readIn.push(turn))
    const received: Socket[] = []
    server.server.on('connection', (socket) => received.push(socket))
    const { port } = await listenForTest(t, server)
    const body = JSON.stringify(Array(28_750).fill('a'))
    const head = 'POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    const request = `${head}Content-Length: ${body.length}\r\n\r\n${body}`
    const clients = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'))
    for (const client of clients) client.write(request.slice(0, -1))
    const hasArrived = ({ bytesRead }: Socket) => bytesRead === request.length - 1
    await until(async () => {
      await setImmediate()
      return received.filter(hasArrived).length === 20
    })
    const nextTurn = () => {
      turn += 1
      if (readIn.length < 20) setImmediate().then(nextTurn)
    }

    setImmediate().then(nextTurn)
    for (const client of clients) client.write(request.slice(-1))
    await Promise.all(clients.map((client) => once(client, 'data')))

    for (const client of clients) client.destroy()
    assert.equal(new Set(readIn).size, 20)
  })

  test('with too many members report only the count, and at most twenty faults are listed', async (t) => {
    const { api } = await start(t)
    const members = (count: number, value: unknown) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]))

    const many = await api.post('/echo', { members: members(5000, 1) })
    const faulty = await api.post('/echo', { members: members(50, 1) })

    assert.deepEqual(many.body.errors, ['members: must have at most 50 entries'])
    assert.equal(faulty.body.errors.length, 20)
  })

  test('that are incomplete share one memory limit: beyond it 503, until they are gone', async (t) => {
    // Large ones, so that an ordinary user's 1,024 open files are enough.
    const { open, api } = await start(t, { bodyLimitBytes: 2 ** 20 })
    const announced = 2 ** 20
    const held: Socket[] = []
    for (let count = 0; count < (64 * 1024 * 1024) / announced; count++) {
      const socket = await open()
      socket.write(`${POST}content-length: ${announced}\r\n\r\n{`)
      held.push(socket)
    }
    await until(async () => (await refusedBeyond(open)) === true)

    for (const socket of held) socket.destroy()
    await until(async () => (await refusedBeyond(open)) === false)
    assert.equal((await api.post('/echo', { text: 'small' })).status, 200)
  })
})

describe('Strict-Transport-Security', () => {
  test('is sent only if the public URL is https', async (t) => {
    const secure = await start(t, { publicUrl: 'https://app.example' })
    const plain = await start(t, { publicUrl: 'http://localhost:8081' })

    const header = 'strict-transport-security'
    assert.equal((await secure.api.get('/')).headers.get(header), 'max-age=31536000')
    assert.equal((await plain.api.get('/')).headers.get(header), null)
  })
})

const POST = 'POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'

/** Whether one more incomplete body is refused. */
async function refusedBeyond(open: () => Promise<Socket>): Promise<boolean> {
  const socket = await open()
  socket.write(`${POST}content-length: ${2 ** 20}\r\n\r\n{`)
  const answered = once(socket, 'data').then(([data]) => /^HTTP\/1\.1 503 /.test(String(data)))
  const waiting = new Promise<boolean>((resolve) => setTimeout(resolve, 100, false))
  const refused = await Promise.race([answered, waiting])
  socket.destroy()
  return refused
}

async function closed(socket: Socket): Promise<void> {
  socket.destroy()
  await once(socket, 'close')
}

async function start(t: TestContext, options: Partial<ServerOptions> = {}) {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: testClock(), ...options })
  const Members = Type.Record(Type.String(), Type.String(), { maxProperties: 50 })
  const body = Type.Object({ members: Type.Optional(Members) })
  server.get('/', () => ({}))
  server.post('/echo', { schema: { body }, handler: () => ({}) })
  actuatorRoutes(server, { name: 'test', version: '1', healthy: async () => true })
  const { api, baseUrl } = await listenForTest(t, server)
  const { hostname, port } = new URL(baseUrl)

  const open = async () => {
    const socket = connect(Number(port), hostname)
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  /** As if a client had connected from this address. */
  const arrive = (remoteAddress: string) => {
    const connection = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
    t.after(() => connection.destroy())
    server.server.emit('connection', Object.assign(connection, { remoteAddress }))
    return connection
  }
  const ask = async (request: string) => {
    const socket = await open()
    socket.end(request)
    return text(socket)
  }
  const status = async (host: string, path = '/') => {
    const reply = await ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    return Number(reply.split(' ', 2)[1])
  }
  const isAnswered = async (socket: Socket) => {
    const ended = once(socket, 'close').then(() => false)
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    return Promise.race([once(socket, 'data').then(() => true), ended])
  }
  return { api, ask, status, open, arrive, isAnswered }
}
