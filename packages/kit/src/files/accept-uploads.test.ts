import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { listenForTest } from '../../testing/listen.ts'
import { createServer } from '../http/server.ts'
import { notFound } from '../problems.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/logging.ts'
import { acceptUploads } from './upload.ts'

async function startServer(t: TestContext) {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock })
  acceptUploads(server, 'multipart/form-data')
  server.post('/json', ({ body }) => ({ received: body }))
  server.post('/refused', {
    onRequest: async () => {
      throw notFound()
    },
    handler: () => 'never',
  })
  return listenForTest(t, server)
}

const request = (path: string, type: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n` +
  `Content-Type: ${type}\r\nContent-Length: 2\r\n\r\n`

test('a client that sends JSON with Expect: 100-continue is told to continue', async (t) => {
  const { port } = await startServer(t)
  const socket = connect(port, '127.0.0.1')
  socket.write(request('/json', 'application/json'))
  const [invitation] = await once(socket, 'data')

  socket.write('{}')

  assert.match(String(invitation), /^HTTP\/1\.1 100 /)
  assert.match(await text(socket), /^HTTP\/1\.1 200 [\s\S]*\{"received":\{\}\}$/)
})

test('an upload with Expect: 100-continue is refused without being told to continue', async (t) => {
  const { port } = await startServer(t)
  const socket = connect(port, '127.0.0.1')

  socket.write(request('/refused', 'multipart/form-data; boundary=b'))

  assert.match(await text(socket), /^HTTP\/1\.1 404 /)
})
