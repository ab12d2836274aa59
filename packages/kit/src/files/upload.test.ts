import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { drainAfterAnswer, drainBeforeClosing } from '../http/hooks/drain.ts'
import { Problem } from '../problems.ts'
import { receiveUpload, type Upload, type UploadLimits } from './upload.ts'

const HEAD =
  'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png'

function body(content: string, head = HEAD): string {
  return `--b\r\n${head}\r\n\r\n${content}\r\n--b--\r\n`
}

const FIELD = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\ntext\r\n'

type Outcome = { upload?: Upload; error?: unknown }

/** A bare server that publishes the upload it receives as `published` and reports the outcome. */
async function startReceiver(t: TestContext, overrides: Partial<UploadLimits> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-upload-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const limits = { folder, maxFileBytes: 1000, maxRequestBytes: 2000, ...overrides }
  const first = Promise.withResolvers<Outcome>()
  const server = createServer()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const outcome = await receive(request, response, limits)
    first.resolve(outcome)
    const { status = 200, headers = {} } = outcome.error instanceof Problem ? outcome.error : {}
    response.on('finish', () => drainAfterAnswer(request))
    await drainBeforeClosing(request, response)
    response.writeHead(status, headers).end(String(outcome.error ?? 'stored'))
  }
  server.on('request', answer).on('checkContinue', answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const files = () => readdirSync(folder)
  return { port, first: first.promise, files, folder, url: `http://127.0.0.1:${port}/` }
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  limits: UploadLimits,
): Promise<Outcome> {
  try {
    await using upload = await receiveUpload(request, response, limits)
    await upload.publish(join(limits.folder, 'published'))
    return { upload }
  } catch (error) {
    return { error }
  }
}

async function assertRefused(outcome: Promise<Outcome>, code: string): Promise<void> {
  const { error } = await outcome
  assert.equal(error instanceof Problem ? error.code : error, code)
}

const HEADERS = { 'content-type': 'multipart/form-data; boundary=b' }

function post(url: string, content: string | Buffer | ReadableStream): Promise<Response> {
  const init = { method: 'POST', headers: HEADERS, body: content, duplex: 'half' }
  return fetch(url, init as RequestInit)
}

/** Writes to a raw connection and reads until the other side closes it. */
async function exchange(port: number, request: string, { end = false } = {}): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  if (end) socket.end(request)
  else socket.write(request)
  return text(socket)
}

describe('an upload', () => {
  test('is received whole, with its name, type, size and digest', async (t) => {
    const receiver = await startReceiver(t, { sha256: true })

    const reply = await post(receiver.url, body('hello'))

    const { upload } = await receiver.first
    assert.equal(reply.status, 200)
    assert.equal(upload?.filename, 'a.png')
    assert.equal(upload?.declaredType, 'image/png')
    assert.equal(upload?.sizeBytes, 5)
    assert.equal(upload?.sha256, createHash('sha256').update('hello').digest('hex'))
    assert.deepEqual(receiver.files(), ['published'])
    assert.equal(readFileSync(join(receiver.folder, 'published'), 'utf8'), 'hello')
  })

  test('of many megabytes arrives in order', async (t) => {
    const size = 20 * 2 ** 20
    const limits = { maxFileBytes: size, maxRequestBytes: size + 1000, sha256: true }
    const receiver = await startReceiver(t, limits)
    const content = Buffer.alloc(size)
    for (let at = 0; at < size; at += 4) content.writeUInt32LE(at, at)
    const [before, after] = body('|').split('|') as [string, string]

    await post(receiver.url, Buffer.concat([Buffer.from(before), content, Buffer.from(after)]))

    const stored = readFileSync(join(receiver.folder, 'published'))
    assert.ok(stored.equals(content))
    assert.equal(
      (await receiver.first).upload?.sha256,
      createHash('sha256').update(content).digest('hex'),
    )
  })

  test('that arrives in many chunks at once is received whole', async (t) => {
    const receiver = await startReceiver(t)
    const pieces = body('hello').match(/.{1,7}/gs) ?? []
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')

    const reply = await exchange(
      receiver.port,
      `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${HEADERS['content-type']}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    )

    assert.match(reply, /^HTTP\/1\.1 200 /)
    assert.equal(readFileSync(join(receiver.folder, 'published'), 'utf8'), 'hello')
  })

  for (const [what, content] of [
    ['20 fields before the file', FIELD.repeat(20) + body('hello')],
    ['20 fields after it', body('hello').replace('--b--', `${FIELD.repeat(20)}--b--`)],
    ['8 KiB of fields', FIELD.replace('text', 'y'.repeat(8192)) + body('hello')],
    [
      'a file input that was left empty',
      FIELD.replace('"a"', '"a"; filename=""').replace('text', '') + body('hello'),
    ],
  ] as const)
    test(`with ${what} is received`, async (t) => {
      const receiver = await startReceiver(t, { maxRequestBytes: 20_000 })

      assert.equal((await post(receiver.url, content)).status, 200)
      assert.equal(readFileSync(join(receiver.folder, 'published'), 'utf8'), 'hello')
    })

  for (const [what, content, detail] of [
    [
      'a second file',
      body(`x\r\n--b\r\n${HEAD.replace('a.png', 'b.png')}\r\n\r\ny`),
      'The form has a second file, "b.png". Send one.',
    ],
    [
      'a second file in another part',
      body(`x\r\n--b\r\n${HEAD.replace('"file"', '"photo"')}\r\n\r\ny`),
      'The form has a second file, "a.png". Send one.',
    ],
    [
      'its file in another part',
      body('x', HEAD.replace('"file"', '"photo"')),
      'The file "a.png" is in the part "photo". Send it in the part "file".',
    ],
  ] as const)
    test(`with ${what} is refused with a message that names the file`, async (t) => {
      const receiver = await startReceiver(t)

      const reply = await post(receiver.url, content)

      assert.equal(reply.status, 400)
      const { error } = await receiver.first
      assert.equal((error as Problem).message, detail)
      assert.deepEqual(receiver.files(), [])
    })

  test('may be exactly as large as allowed, and not a byte larger', async (t) => {
    const receiver = await startReceiver(t)

    assert.equal((await post(receiver.url, body('x'.repeat(1000)))).status, 200)
    rmSync(join(receiver.folder, 'published'))
    assert.equal((await post(receiver.url, body('x'.repeat(1001)))).status, 413)
    assert.deepEqual(receiver.files(), [])
  })

  test('is limited by the size of its request too, announced or not', async (t) => {
    const receiver = await startReceiver(t, { maxFileBytes: 10_000 })
    const large = body('x'.repeat(2000))
    const unannounced = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode(large))
        controller.close()
      },
    })

    assert.equal((await post(receiver.url, large)).status, 413)
    assert.equal((await post(receiver.url, unannounced)).status, 413)
    assert.deepEqual(receiver.files(), [])
  })

  for (const [what, content] of [
    ['an empty body', ''],
    ['no closing boundary', body('x').slice(0, -6)],
    ['half a file', body('x'.repeat(500)).slice(0, 300)],
    ['half a header', body('x').slice(0, 30)],
    ['another boundary', body('x').replaceAll('--b', '--c')],
    ['two files', body(`x\r\n--b\r\n${HEAD}\r\n\r\ny`)],
    ['21 fields', FIELD.repeat(21) + body('x')],
    ['8 KiB and a byte of fields', FIELD.replace('text', 'y'.repeat(8193)) + body('x')],
    ['fields and no file', `${FIELD}--b--`],
    ['another part name', body('x', HEAD.replace('"file"', '"data"'))],
    ['a part named __proto__', body('x', HEAD.replace('"file"', '"__proto__"'))],
    ['no file name', body('x', 'Content-Disposition: form-data; name="file"')],
    ['a blank file name', body('x', HEAD.replace('a.png', ' '))],
    ['NUL in the file name', body('x', HEAD.replace('a.png', 'a.png\0.exe'))],
    ['a header of 100 KB', body('x', `${HEAD}\r\nX: ${'x'.repeat(100_000)}`)],
    ['10,000 parts', `--b\r\n${HEAD}\r\n\r\n\r\n`.repeat(10_000)],
  ] as const)
    test(`with ${what} is refused with 400 and leaves nothing`, async (t) => {
      const receiver = await startReceiver(t, { maxRequestBytes: 2 ** 20 })

      const reply = await post(receiver.url, content)

      assert.equal(reply.status, 400)
      assert.deepEqual(receiver.files(), [])
    })

  test('shorter than its Content-Length is aborted and leaves nothing', async (t) => {
    const receiver = await startReceiver(t)
    const request = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${HEADERS['content-type']}\r\nContent-Length: 1500\r\n\r\n`

    await exchange(receiver.port, request + body('x'.repeat(50)), { end: true })

    await assertRefused(receiver.first, 'UPLOAD_ABORTED')
    assert.deepEqual(receiver.files(), [])
  })

  test('that is aborted half-way leaves nothing', async (t) => {
    const receiver = await startReceiver(t, { maxFileBytes: 2 ** 21, maxRequestBytes: 2 ** 21 })
    const socket = connect(receiver.port, '127.0.0.1')
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${HEADERS['content-type']}\r\nContent-Length: 1500000\r\n\r\n${body('x'.repeat(10 ** 6)).slice(0, -10)}`,
    )
    while (receiver.files().length === 0) await new Promise(setImmediate)

    socket.destroy()

    await assertRefused(receiver.first, 'UPLOAD_ABORTED')
    assert.deepEqual(receiver.files(), [])
  })

  test('with Expect: 100-continue is refused before the body is sent', async (t) => {
    const receiver = await startReceiver(t)

    const reply = await exchange(
      receiver.port,
      `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Type: ${HEADERS['content-type']}\r\nContent-Length: 999999\r\n\r\n`,
    )

    assert.match(reply, /^HTTP\/1\.1 413 /)
  })

  test('with Expect: 100-continue is told to continue when it is acceptable', async (t) => {
    const receiver = await startReceiver(t)
    const content = body('x')
    const socket = connect(receiver.port, '127.0.0.1')
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Type: ${HEADERS['content-type']}\r\nContent-Length: ${content.length}\r\n\r\n`,
    )
    const [invitation] = await once(socket, 'data')

    socket.write(content)

    assert.match(String(invitation), /^HTTP\/1\.1 100 /)
    assert.match(await text(socket), /^HTTP\/1\.1 200 /)
  })

  test('is answered with 408 when it arrives too slowly', async (t) => {
    const minimumSpeed = { windowSeconds: 0.05, bytesPerSecond: 100_000 }
    const receiver = await startReceiver(t, { minimumSpeed })

    const reply = await exchange(
      receiver.port,
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${HEADERS['content-type']}\r\nContent-Length: 1500\r\n\r\n--b\r\n`,
    )

    assert.match(reply, /^HTTP\/1\.1 408 /)
    await assertRefused(receiver.first, 'UPLOAD_TOO_SLOW')
    assert.deepEqual(receiver.files(), [])
  })

  test('refused while it is still being sent lets the client read the answer', async (t) => {
    const receiver = await startReceiver(t)
    const megabyte = new Uint8Array(2 ** 20)
    let sent = 0
    const stream = new ReadableStream({
      pull: (controller) => {
        sent += 1
        if (sent > 16) controller.close()
        else controller.enqueue(megabyte)
      },
    })

    const reply = await post(receiver.url, stream)

    assert.equal(reply.status, 413)
    assert.match(await reply.text(), /larger/)
  })

  test('refused is answered promptly even if the client never sends the body', async (t) => {
    const { port } = await startReceiver(t)
    const socket = connect(port, '127.0.0.1')
    const started = performance.now()

    socket.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 99\r\n\r\n')

    assert.match(await text(socket), /^HTTP\/1.1 400 /)
    assert.ok(performance.now() - started < 5000)
  })

  for (const connection of ['keep-alive', 'close'])
    test(`refused lets a client read the answer after sending everything (${connection})`, async (t) => {
      const { port } = await startReceiver(t)
      const megabyte = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(2 ** 20 + 2, '\r\n')])
      const socket = connect(port, '127.0.0.1').pause()
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n`)
      socket.write(`Content-Type: ${HEADERS['content-type']}\r\nTransfer-Encoding: chunked\r\n\r\n`)

      for (let sent = 0; sent < 16; sent += 1)
        if (!socket.write(megabyte)) await once(socket, 'drain')
      socket.end('0\r\n\r\n')

      assert.match(await text(socket), /^HTTP\/1.1 4\d\d /)
    })
})
