import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { type ClientOptions, foundOf, jsonOf, nothingOf, sender } from './request.ts'
import { uploadOf } from './upload.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown

/** A server that gives its answers one after the other, and then repeats the last one. */
async function startServer(t: TestContext, ...answers: Answer[]) {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    const answer = answers[Math.min(seen.length, answers.length - 1)]
    seen.push(request)
    answer?.(response, request)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const senderWith = (options: ClientOptions = {}) => sender(url, { retryDelayMs: 1, ...options })
  return { url, seen, senderWith, send: senderWith() }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end(JSON.stringify(body))
const cut: Answer = (response) => response.destroy()
const half: Answer = (response) => {
  response.writeHead(200, { 'content-length': 100 }).write('{"ok":')
  setImmediate(() => response.destroy())
}
const silence: Answer = () => {}
const OK = json(200, { ok: true })

describe('a call that is safe to repeat is retried', () => {
  for (const [name, failure] of Object.entries({
    'the connection is cut': cut,
    'the reply breaks off': half,
    'the service is too busy': json(429, {}),
    'a proxy has no answer': json(502, {}),
    'the service is down for a moment': json(503, {}, { 'retry-after': '0' }),
  }))
    test(`when ${name}`, async (t) => {
      const { send, seen } = await startServer(t, failure, failure, OK)

      assert.deepEqual(await jsonOf(send('GET', '/')), { ok: true })
      assert.equal(seen.length, 3)
    })

  test('also PUT, DELETE, and POST with an idempotency key', async (t) => {
    const { send, seen } = await startServer(t, cut, OK, cut, OK, cut, OK)

    await send('PUT', '/', { json: {} })
    await send('DELETE', '/')
    await send('POST', '/', { json: {}, headers: { 'idempotency-key': 'a' } })

    assert.equal(seen.length, 6)
  })

  test('but not any other POST or PATCH', async (t) => {
    const { send, seen } = await startServer(t, cut)

    await assert.rejects(send('POST', '/', { json: {} }), { name: 'ConnectionError' })
    await assert.rejects(send('PATCH', '/', { json: {} }), { name: 'ConnectionError' })

    assert.equal(seen.length, 2)
  })

  test('but not after a refusal, nor if the service asks for a long wait', async (t) => {
    const patience = json(503, { code: 'BUSY' }, { 'retry-after': '31' })
    const { send, seen } = await startServer(t, json(404, {}), json(500, {}), patience)

    await assert.rejects(send('GET', '/'), { status: 404, code: 'HTTP_404' })
    await assert.rejects(send('GET', '/'), { status: 500 })
    await assert.rejects(send('GET', '/'), { status: 503, code: 'BUSY', retryAfterSeconds: 31 })

    assert.equal(seen.length, 3)
  })

  test('twice by default, and never with retries: 0', async (t) => {
    const { send, seen, senderWith } = await startServer(t, cut)

    await assert.rejects(send('GET', '/'), { name: 'ConnectionError' })
    await assert.rejects(senderWith({ retries: 0 })('GET', '/'), { name: 'ConnectionError' })

    assert.equal(seen.length, 4)
  })
})

describe('a deletion that finds nothing', () => {
  const missing = json(404, { code: 'FILE_NOT_FOUND' })

  for (const [name, lost] of Object.entries({
    'the connection is cut': cut,
    'a proxy has no answer': json(502, {}),
  }))
    test(`has succeeded when ${name} and it is sent again`, async (t) => {
      const { send, seen } = await startServer(t, lost, missing, lost, json(200, false))

      await nothingOf(send('DELETE', '/'))

      assert.equal(await foundOf(send('DELETE', '/')), true)
      assert.equal(seen.length, 4)
    })

  test('is reported when no earlier try can have deleted it', async (t) => {
    const busy = json(503, {}, { 'retry-after': '0' })
    const { send } = await startServer(t, missing, busy, missing, json(200, false))

    for (let call = 1; call <= 2; call++)
      await assert.rejects(nothingOf(send('DELETE', '/')), { code: 'FILE_NOT_FOUND' })
    assert.equal(await foundOf(send('DELETE', '/')), false)
  })

  test('is reported by a call that returns what it deleted', async (t) => {
    const { send } = await startServer(t, cut, missing)

    await assert.rejects(jsonOf(send('DELETE', '/')), { code: 'FILE_NOT_FOUND' })
  })

  test('is not mistaken for another call that finds nothing when it is sent again', async (t) => {
    const { send } = await startServer(t, cut, missing)

    await assert.rejects(nothingOf(send('PUT', '/')), { code: 'FILE_NOT_FOUND' })
  })
})

describe('a call ends', () => {
  test('with a TimeoutError when there is no answer in time, and is not repeated', async (t) => {
    const { senderWith, seen } = await startServer(t, silence)

    await assert.rejects(senderWith({ timeoutMs: 3_000 })('GET', '/'), { name: 'TimeoutError' })

    assert.equal(seen.length, 1)
  })

  test('with the reason of a cancellation, during the call or a wait', async (t) => {
    const busy = json(503, {}, { 'retry-after': '20' })
    const { send, seen } = await startServer(t, silence, busy)
    for (const calls of [1, 2]) {
      const cancelled = new AbortController()
      const reason = new Error('changed my mind')
      const call = send('GET', '/', { signal: cancelled.signal })
      const failed = assert.rejects(call, reason)
      while (seen.length < calls) await new Promise(setImmediate)

      cancelled.abort(reason)

      await failed
    }
  })

  test('before it starts when it was already cancelled', async (t) => {
    const { send, seen } = await startServer(t, OK)

    await assert.rejects(send('GET', '/', { signal: AbortSignal.abort() }), { name: 'AbortError' })

    assert.equal(seen.length, 0)
  })
})

describe('an access token', () => {
  test('is sent as given, or as the function returns it', async (t) => {
    const { seen, senderWith } = await startServer(t, OK)

    await senderWith({ accessToken: 'plk_test_1' })('GET', '/')
    await senderWith({ accessToken: async () => 'token' })('GET', '/')
    await senderWith({ accessToken: () => undefined })('GET', '/')

    const sent = seen.map(({ headers }) => headers.authorization)
    assert.deepEqual(sent, ['Bearer plk_test_1', 'Bearer token', undefined])
  })

  for (const accessToken of ['plk_test_…', 'plk_test\n1'])
    test(`that no header can hold is refused without showing it: ${JSON.stringify(accessToken)}`, async (t) => {
      const { seen, send, senderWith } = await startServer(t, OK)
      const refused = {
        name: 'TypeError',
        message: /^The [\w-]+ header cannot be sent: (?!.*plk_)/,
      }

      await assert.rejects(senderWith({ accessToken })('GET', '/'), refused)
      await assert.rejects(send('GET', '/', { headers: { 'x-api-key': accessToken } }), refused)

      assert.equal(seen.length, 0)
    })
})

describe('a failure says what happened', () => {
  test('when nothing listens at the address', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    const send = sender(`http://127.0.0.1:${port}`, { retries: 0 })

    await assert.rejects(send('GET', '/'), { name: 'ConnectionError', message: /ECONNREFUSED/ })
  })

  test('when the address lacks its scheme', async () => {
    const send = sender('localhost:8084', { retries: 0 })

    await assert.rejects(send('GET', '/'), { name: 'ConnectionError', message: /scheme/ })
  })

  test('when another web server answers with a page', async (t) => {
    const page: Answer = (response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>')
    const { send } = await startServer(t, page)

    await assert.rejects(jsonOf(send('GET', '/')), {
      name: 'ConnectionError',
      message: 'No answer from the service: what answered sent no JSON; check the address',
    })
  })

  test('when the body cannot be sent as JSON', async (t) => {
    const { send, seen } = await startServer(t, OK)

    await assert.rejects(send('PUT', '/', { json: { amount: 10n } }), { name: 'TypeError' })

    assert.equal(seen.length, 0)
  })

  test('without the markup of the page that a proxy answers with', async (t) => {
    const page: Answer = (response) =>
      response.writeHead(502, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Bad</h1>')
    const { senderWith } = await startServer(t, page)

    await assert.rejects(senderWith({ retries: 0 })('GET', '/'), {
      name: 'ProblemError',
      code: 'HTTP_502',
      message: 'The service answered 502',
    })
  })

  test('and how long to wait, also when Retry-After is a date', async (t) => {
    const date = 'Tue, 01 Jan 2030 12:00:00 GMT'
    const until = (moment: string) => json(503, {}, { date, 'retry-after': moment })
    const { send, seen } = await startServer(t, until('Tue, 01 Jan 2030 12:02:00 GMT'))
    const past = await startServer(t, until('Tue, 01 Jan 2030 11:00:00 GMT'), OK)
    const strange = await startServer(t, until('soon'))

    await assert.rejects(send('GET', '/'), { status: 503, retryAfterSeconds: 120 })
    await past.send('GET', '/')
    await assert.rejects(strange.send('GET', '/'), { retryAfterSeconds: undefined })

    assert.equal(seen.length, 1)
  })
})

describe('an upload', () => {
  const MEGABYTE = new Blob([new Uint8Array(1_000_000)], { type: 'image/png' })
  const readAll: Answer = async (response, request) => {
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>)
    const form = await new Response(Buffer.concat(chunks), {
      headers: { 'content-type': String(request.headers['content-type']) },
    }).formData()
    const file = form.get('file') as File
    response.end(JSON.stringify([file.name, file.type, file.size]))
  }

  test('arrives as a form with one file, and reports its progress', async (t) => {
    const { send } = await startServer(t, readAll)
    const progress: number[] = []
    const onProgress = ({ loaded, total }: { loaded: number; total: number }) => {
      assert.equal(total, 1_000_000)
      progress.push(loaded)
    }

    const call = uploadOf(MEGABYTE, 'say "ü".png', { onProgress })
    const stored = await jsonOf(send('POST', '/', call))

    assert.deepEqual(stored, ['say "ü".png', 'image/png', 1_000_000])
    assert.ok(progress.length > 2)
    assert.deepEqual(
      progress,
      progress.toSorted((a, b) => a - b),
    )
    assert.equal(progress.at(-1), 1_000_000)
  })

  test('can be cancelled midway', async (t) => {
    const { send } = await startServer(t, readAll)
    const cancelled = new AbortController()
    const onProgress = () => cancelled.abort()

    const call = uploadOf(MEGABYTE, 'a.png', { onProgress, signal: cancelled.signal })

    await assert.rejects(send('POST', '/', call), { name: 'AbortError' })
  })

  test('may take longer than the time limit as long as bytes are sent', async (t) => {
    const arrived = Promise.withResolvers<ServerResponse>()
    const { senderWith } = await startServer(t, (response, request) => {
      request.resume().on('end', () => arrived.resolve(response))
    })
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const onProgress = () => t.mock.timers.tick(900)
    const send = senderWith({ timeoutMs: 1000 })

    const uploaded = send('POST', '/', uploadOf(MEGABYTE, 'a.png', { onProgress }))
    const response = await arrived.promise
    response.end('{}')

    assert.equal((await uploaded).status, 200)
  })

  test('that is refused before all of it was sent leaves no timer behind', async () => {
    let rest: ReadableStream<Uint8Array> | undefined
    const refuse: typeof fetch = async (_url, init) => {
      rest = init?.body as ReadableStream<Uint8Array>
      return new Response('{}', { status: 413 })
    }
    const send = sender('http://localhost', { fetch: refuse })
    const before = timers()

    await assert.rejects(send('POST', '/', uploadOf(MEGABYTE, 'a.png')), { status: 413 })
    // Fetch may go on taking bytes after the answer.
    for await (const _ of rest ?? []);

    assert.ok(timers() <= before)
  })
})

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}
