import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { exchange, rawRequest } from './raw-request.ts'
import { filesIn, KEY, PNG, startStorageKey } from './start-storage-key.ts'

const PART =
  'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png'
const body = (content = PNG.toString('latin1'), header = PART) =>
  `--b\r\n${header}\r\n\r\n${content}\r\n--b--\r\n`

/** An upload written by hand. */
function post(port: number, headers: string[], content: string) {
  const head = [
    'POST /file HTTP/1.1',
    'Host: localhost',
    'Connection: close',
    `X-API-KEY: ${KEY}`,
    'Content-Type: multipart/form-data; boundary=b',
    ...headers,
  ]
  return exchange(port, Buffer.from(`${head.join('\r\n')}\r\n\r\n${content}`, 'latin1'))
}

const chunked = (content: string) => `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`

describe('the upload protocol', () => {
  test('a chunked upload without a length works', async (t) => {
    const { port } = await startStorageKey(t)

    assert.equal((await post(port, ['Transfer-Encoding: chunked'], chunked(body()))).status, 200)
  })

  for (const [what, headers, content, status] of [
    [
      'chunked and over the limit',
      ['Transfer-Encoding: chunked'],
      chunked(body('x'.repeat(3000))),
      413,
    ],
    ['a negative length', ['Content-Length: -1'], body(), 400],
    ['a length that is not a number', ['Content-Length: 1e9'], body(), 400],
    ['two lengths', ['Content-Length: 5', 'Content-Length: 6'], body(), 400],
    [
      'a length and chunks',
      ['Content-Length: 5', 'Transfer-Encoding: chunked'],
      chunked(body()),
      400,
    ],
    ['a huge length', ['Content-Length: 1000000000000'], body(), 413],
    ['a length shorter than the body', ['Content-Length: 100'], body(), 400],
    [
      'a preamble of 10,000 bytes',
      ['Content-Length: 10187'],
      `${'x'.repeat(10_000)}\r\n${body()}`,
      413,
    ],
    ['bare line feeds', ['Content-Length: 150'], body().replaceAll('\r\n', '\n').padEnd(150), 400],
  ] as const)
    test(`${what} is ${status} and leaves nothing`, async (t) => {
      const { port, root } = await startStorageKey(t, {
        STORAGE_KEY_MAX_FILE_SIZE: '1000',
        STORAGE_KEY_MAX_REQUEST_SIZE: '2000',
      })

      assert.equal((await post(port, [...headers], content)).status, status)
      // The HTTP parser replies immediately, while the upload is still being discarded.
      await until(() => filesIn(root).incoming.length === 0, Boolean, 1)
      assert.deepEqual(filesIn(root), { stored: [], incoming: [] })
    })

  for (const [what, content] of [
    ['a part header of 100 KB', body('x', `${PART}\r\nX-Junk: ${'x'.repeat(100_000)}`)],
    ['10,000 parts', `--b\r\n${PART}\r\n\r\n\r\n`.repeat(10_000)],
    ['a header with 2,000 parameters', body('x', `${PART.slice(0, 40)}${'; a=b'.repeat(1500)}`)],
    ['a body of near-boundaries', body('\r\n--'.repeat(100_000)).slice(0, -8)],
    ['10,000 bytes before the boundary', `${'x'.repeat(10_000)}\r\n${body()}`],
  ] as const)
    test(`${what} is 400 and costs little time`, async (t) => {
      const { port } = await startStorageKey(t)
      const before = process.cpuUsage()

      const reply = await post(port, [`Content-Length: ${content.length}`], content)

      const { user, system } = process.cpuUsage(before)
      assert.equal(reply.status, 400)
      assert.ok(user + system < 1_000_000, `${user + system} µs`)
    })

  test('a refused upload leaves the connection usable for the next request', async (t) => {
    const { port } = await startStorageKey(t)
    const socket = connect(port, '127.0.0.1')
    const wrong = body('not a png')
    socket.write(
      `POST /file HTTP/1.1\r\nHost: localhost\r\nX-API-KEY: ${KEY}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${wrong.length}\r\n\r\n${wrong}`,
    )

    socket.write(
      `GET /file/list HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-KEY: ${KEY}\r\n\r\n`,
    )

    assert.match(await text(socket), /^HTTP\/1\.1 400 [\s\S]*HTTP\/1\.1 200 [\s\S]*\[\]$/)
  })
})

describe('unusual requests', () => {
  test('a target of 100 KB or headers of 17 KB are refused, not 500', async (t) => {
    const { port } = await startStorageKey(t)

    const target = await rawRequest(port, `/file/${'a'.repeat(100_000)}`)
    const header = await rawRequest(port, '/file/list', { headers: [`X: ${'a'.repeat(17_000)}`] })

    assert.deepEqual([target.status, header.status], [431, 431])
  })

  for (const [what, request, status, error] of [
    ['a request that is not HTTP', 'what is this?\r\n\r\n', 400, 'Bad Request'],
    [
      'a header of 17 KB',
      `GET /file/list HTTP/1.1\r\nX: ${'a'.repeat(17_000)}\r\n\r\n`,
      431,
      'Request Header Fields Too Large',
    ],
  ] as const)
    test(`${what} is refused with the usual error body`, async (t) => {
      const { port } = await startStorageKey(t)

      const { head, body } = await exchange(port, request)

      assert.match(head, /content-type: application\/json(;|\r|$)/)
      assert.deepEqual(JSON.parse(body), {
        timestamp: '2030-01-01T00:00:00.000Z',
        status,
        error,
        message: 'The request could not be read.',
        path: '',
      })
    })

  test('X-HTTP-Method-Override changes nothing', async (t) => {
    const { api, root } = await startStorageKey(t)
    writeFileSync(join(root, 'a.png'), 'x')

    const reply = await api.get('/file/a.png', { headers: { 'x-http-method-override': 'DELETE' } })

    assert.equal(reply.body, 'x')
    assert.deepEqual(filesIn(root).stored, ['a.png'])
  })

  for (const method of ['TRACE', 'PUT', 'PATCH', 'PROPFIND', 'LOCK', 'SEARCH'])
    test(`${method} is 405 or 404, and 401 without the key`, async (t) => {
      const { port } = await startStorageKey(t)

      assert.ok([404, 405].includes((await rawRequest(port, '/file/a.png', { method })).status))
      assert.equal((await rawRequest(port, '/file/a.png', { method, key: null })).status, 401)
    })

  test('a name with quotes and line breaks in it cannot add a header', async (t) => {
    const { api, root } = await startStorageKey(t)
    const name = 'a"b; x=\u{1f600}.png'
    writeFileSync(join(root, name), 'x')

    const { headers } = await api.get(`/file/${encodeURIComponent(name)}`)

    assert.equal(
      headers.get('content-disposition'),
      `attachment; filename="a_b; x=__.png"; filename*=UTF-8''a%22b%3B%20x%3D%F0%9F%98%80.png`,
    )
    assert.equal((await api.get('/file/a%0d%0aSet-Cookie:x=1')).status, 400)
  })

  test('no header reveals the software', async (t) => {
    const { anonymous } = await startStorageKey(t)

    const { headers } = await anonymous.get('/nothing')

    assert.equal(headers.get('server'), null)
    assert.equal(headers.get('x-powered-by'), null)
  })

  test('a request for 1000 ranges returns the file once', async (t) => {
    const { api, root } = await startStorageKey(t)
    writeFileSync(join(root, 'a.png'), '0123456789')
    const range = `bytes=${Array.from({ length: 1000 }, () => '0-9').join(',')}`

    const reply = await api.get('/file/a.png', { headers: { range } })

    assert.equal(reply.bytes.length, 10)
  })
})

test('the reply to a target that cannot be decoded has the usual headers', async (t) => {
  const { port } = await startStorageKey(t)

  for (const target of ['/%', '/file/%E0%A4%A', '/api-test/%']) {
    const { status, head } = await rawRequest(port, target)

    assert.equal(status, 400, target)
    assert.match(head, /^x-request-id: [0-9a-f-]{36}$/m)
    assert.match(head, /^x-content-type-options: nosniff$/m)
    assert.match(head, /^cache-control: no-store$/m)
  }
})
