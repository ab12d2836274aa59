import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { listenForTest, testClock } from '../../../../testing/index.ts'
import { createLogger } from '../../../logging.ts'
import { accessDenied } from '../../../problems.ts'
import { createServer } from '../../server.ts'

const CLIENTS = 24
const BYTES = 1024 * 1024
/** Ten chunks. Without turns it is a megabyte and more. */
const MAX_BYTES_PER_TURN = 10 * 64 * 1024

describe('24 bodies of 1 MiB that arrive together leave turns of the event loop to other requests', () => {
  for (const path of ['/kept', '/refused', '/unknown'])
    test(`when they are sent to ${path}`, async (t) => {
      const { port, received } = await start(t)
      const body = Buffer.alloc(BYTES, ' ')
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
      const request = Buffer.concat([Buffer.from(`${head}Content-Length: ${BYTES}\r\n\r\n`), body])

      for (const client of clients(t, port)) client.write(request)
      const most = await mostPerTurn(received, CLIENTS * request.length)

      assert.ok(most <= MAX_BYTES_PER_TURN, `${most} bytes were read in one turn`)
    })
})

test('a connection whose body was refused serves the next request', async (t) => {
  const { port } = await start(t)
  const [client] = clients(t, port, 1)
  let answers = ''
  client?.on('data', (chunk) => {
    answers += chunk
  })
  const head = 'POST /refused HTTP/1.1\r\nHost: localhost\r\n'

  client?.write(`${head}Content-Length: ${BYTES}\r\n\r\n${' '.repeat(BYTES)}`)
  client?.write('GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n')
  while (!/hello":true/.test(answers)) await nextTurn()

  assert.match(answers, /^HTTP\/1\.1 403 /)
  assert.equal(answers.match(/HTTP\/1\.1 /g)?.length, 2)
})

/** The most bytes that the server read between two turns of the event loop. */
async function mostPerTurn(received: Socket[], total: number): Promise<number> {
  let most = 0
  for (let before = 0; before < total; ) {
    await nextTurn()
    const bytes = received.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
    most = Math.max(most, bytes - before)
    before = bytes
  }
  return most
}

function clients(t: TestContext, port: number, count = CLIENTS): Socket[] {
  return Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    return socket
  })
}

async function start(t: TestContext) {
  const server = createServer({ log: createLogger('test', 'silent'), clock: testClock() })
  const refuse = async () => {
    throw accessDenied()
  }
  server.get('/hello', () => ({ hello: true }))
  server.post('/kept', { bodyLimit: BYTES, handler: () => ({}) })
  server.post('/refused', { onRequest: refuse, handler: () => ({}) })
  const received: Socket[] = []
  server.server.on('connection', (socket) => received.push(socket))
  const { port } = await listenForTest(t, server)
  return { port, received }
}
