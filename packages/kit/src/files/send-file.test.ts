import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { listenForTest } from '../../testing/listen.ts'
import { createServer } from '../http/server.ts'
import { createLogger } from '../logging.ts'
import { systemClock } from '../runtime/clock.ts'
import { type Representation, sendFile } from './send-file.ts'

const CONTENT = '0123456789'

async function startServer(
  t: TestContext,
  overrides: Partial<Representation> = {},
  stalledMs?: number,
) {
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock })
  const file: Representation = {
    sizeBytes: CONTENT.length,
    etag: '"tag"',
    lastModified: undefined,
    mediaType: 'text/plain',
    disposition: 'inline',
    open: (start, end) => Readable.from([Buffer.from(CONTENT.slice(start, end + 1))]),
    ...overrides,
  }
  server.get('/file', (request, reply) => sendFile(request, reply, file, { stalledMs }))
  return listenForTest(t, server)
}

describe('a file over HTTP', () => {
  test('is opened for the requested range only', async (t) => {
    const { api } = await startServer(t)

    const reply = await api.get('/file', { headers: { range: 'bytes=2-4' } })

    assert.equal(reply.status, 206)
    assert.equal(reply.bytes.toString(), '234')
    assert.equal(reply.headers.get('content-length'), '3')
  })

  test('has the digest of the whole file even when a range is requested', async (t) => {
    const { api } = await startServer(t, { sha256: '00ff'.repeat(16) })

    const reply = await api.get('/file', { headers: { range: 'bytes=0-0' } })

    assert.equal(
      reply.headers.get('repr-digest'),
      `sha-256=:${Buffer.from('00ff'.repeat(16), 'hex').toString('base64')}:`,
    )
  })

  for (const [what, method, headers, status] of [
    ['HEAD', 'HEAD', {}, 200],
    ['HEAD with a range', 'HEAD', { range: 'bytes=1-2' }, 200],
    ['304', 'GET', { 'if-none-match': '"tag"' }, 304],
    ['412', 'GET', { 'if-match': '"other"' }, 412],
    ['416', 'GET', { range: 'bytes=99-' }, 416],
  ] as const)
    test(`is closed unread for ${what}`, async (t) => {
      let [opened, closed] = [0, 0]
      const { api } = await startServer(t, {
        open: () => {
          opened += 1
          return Readable.from([])
        },
        close: async () => {
          closed += 1
        },
      })

      const reply = await api.request(method, '/file', { headers: { ...headers } })

      assert.equal(reply.status, status)
      assert.deepEqual([opened, closed], [0, 1])
    })

  test('that cannot be opened is answered with 500 and none of its headers', async (t) => {
    const { api } = await startServer(t, {
      open: () => Promise.reject(new Error('/secret/path')),
    })

    const reply = await api.get('/file')

    assert.equal(reply.status, 500)
    assert.equal(reply.headers.get('content-disposition'), null)
    assert.doesNotMatch(reply.bytes.toString(), /secret/)
  })

  test('is closed when the client stops reading', async (t) => {
    const ended = Promise.withResolvers<void>()
    const endless = Readable.from(
      (function* () {
        while (true) yield Buffer.alloc(2 ** 20)
      })(),
    )
    endless.once('close', ended.resolve)
    const { port } = await startServer(t, { sizeBytes: 2 ** 40, open: () => endless }, 100)

    const socket = connect(port, '127.0.0.1').pause()
    socket.on('error', () => {}).write('GET /file HTTP/1.1\r\nHost: x\r\n\r\n')

    await ended.promise
    socket.destroy()
  })
})
