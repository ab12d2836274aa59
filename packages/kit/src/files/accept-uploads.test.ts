import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { listenForTest } from '../../testing/listen.ts'
import { inScope } from '../http/scope.ts'
import { createServer } from '../http/server.ts'
import { createLogger } from '../logging.ts'
import { notFound } from '../problems.ts'
import { systemClock } from '../runtime/clock.ts'
import { acceptUploads, receiveUpload } from './upload.ts'

const LIMITS = { folder: tmpdir(), maxFileBytes: 100, maxRequestBytes: 1000 }

async function startServer(t: TestContext) {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock })
  const onRequest = async () => {
    throw notFound()
  }
  server.post('/json', ({ body }) => ({ received: body }))
  server.post('/refused', { onRequest }, () => 'never')
  inScope(server, (scope) => {
    acceptUploads(scope)
    const config = { receivesUpload: true }
    scope.post('/upload', { config }, async ({ raw }, reply) => {
      await using upload = await receiveUpload(raw, reply.raw, LIMITS)
      return upload.filename
    })
    scope.post('/refused-upload', { config, onRequest }, () => 'never')
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

for (const [path, type, status] of [
  ['/refused', 'application/json', 404],
  ['/nowhere', 'application/json', 404],
  ['/refused-upload', 'multipart/form-data; boundary=b', 404],
  ['/refused-upload', 'image/png', 404],
  ['/upload', 'image/png', 400],
] as const)
  test(`${path} refuses ${type} with Expect: 100-continue and does not ask for the body`, async (t) => {
    const { port } = await startServer(t)
    const socket = connect(port, '127.0.0.1')

    socket.write(request(path, type))

    assert.match(await text(socket), new RegExp(`^HTTP/1\\.1 ${status} `))
  })

for (const type of ['', 'garbage', ';;;', 'application/json', 'text/plain'])
  test(`an upload with the Content-Type "${type}" is 400 and is told what to send`, async (t) => {
    const { api } = await startServer(t)

    for (const body of ['{"file":', 'x'.repeat(200_000)]) {
      const reply = await api.request('POST', '/upload', {
        headers: { 'content-type': type },
        body,
      })

      assert.deepEqual([reply.status, reply.body.code], [400, 'MALFORMED_UPLOAD'])
      assert.match(reply.body.detail, /multipart\/form-data/)
    }
  })
