import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { type CallOptions, callsOf } from './calls.ts'
import { DOWNLOAD, download as resuming } from './download.ts'
import { type Send, sender } from './request.ts'

const CONTENT = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251))

const download = (send: Send, path: string, options?: CallOptions) =>
  resuming((headers) =>
    callsOf<Record<string, unknown>>(send).response(
      `GET ${path}`,
      { ...DOWNLOAD, headers },
      options,
    ),
  )

type Options = {
  cutAfter?: number[]
  /** Sends no more than this many bytes of a reply, and leaves it open. */
  holdAfter?: number
  etags?: string[]
}

/** Serves ranges of the content, and cuts off the first replies after the given numbers of bytes. */
async function startServer(
  t: TestContext,
  { cutAfter = [], holdAfter, etags = ['"one"'] }: Options,
) {
  const ranges: (string | undefined)[] = []
  const server = createServer((request, response) => {
    const etag = etags[Math.min(ranges.length, etags.length - 1)] ?? ''
    const cut = cutAfter[ranges.length]
    const { range } = request.headers
    ranges.push(range)
    if (request.headers['if-none-match'] === etag) return response.writeHead(304, { etag }).end()
    const isSame = request.headers['if-range'] === undefined || request.headers['if-range'] === etag
    const [, from = '0', to = ''] = (isSame && /^bytes=(\d+)-(\d*)$/.exec(range ?? '')) || []
    const start = Number(from)
    const end = to === '' ? CONTENT.length - 1 : Number(to)
    const headers = { etag, 'content-length': end - start + 1 }
    if (range && isSame) {
      const extent = `bytes ${start}-${end}/${CONTENT.length}`
      response.writeHead(206, { ...headers, 'content-range': extent })
    } else response.writeHead(200, headers)
    const body = CONTENT.subarray(start, end + 1)
    if (holdAfter !== undefined) return response.write(body.subarray(0, holdAfter))
    if (cut === undefined) return response.end(body)
    return response.write(body.subarray(0, cut), () => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { ranges, send: sender(url, { retryDelayMs: 1 }) }
}

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

test('a download whose connection breaks three times arrives whole', async (t) => {
  const { send, ranges } = await startServer(t, { cutAfter: [100_000, 50_000, 1] })

  const response = await download(send, '/file')

  assert.ok((await bytesOf(response)).equals(CONTENT))
  assert.deepEqual(ranges, [
    undefined,
    'bytes=100000-299999',
    'bytes=150000-299999',
    'bytes=150001-299999',
  ])
})

for (const name of ['range', 'Range'])
  test(`the download of a range resumes within that range, asked for as ${name}`, async (t) => {
    const { send, ranges } = await startServer(t, { cutAfter: [10] })

    const response = await download(send, '/file', { headers: { [name]: 'bytes=1000-1999' } })

    assert.equal(response.status, 206)
    assert.ok((await bytesOf(response)).equals(CONTENT.subarray(1000, 2000)))
    assert.deepEqual(ranges, ['bytes=1000-1999', 'bytes=1010-1999'])
  })

test('a file that the caller has already is a 304 without a body', async (t) => {
  const { send } = await startServer(t, {})

  const response = await download(send, '/file', { headers: { 'if-none-match': '"one"' } })

  assert.equal(response.status, 304)
  assert.equal((await bytesOf(response)).length, 0)
})

test('a file that changed in the meantime is not pieced together', async (t) => {
  const { send } = await startServer(t, { cutAfter: [1000], etags: ['"one"', '"two"'] })

  const response = await download(send, '/file')

  await assert.rejects(bytesOf(response), /has changed/)
})

test('a download gives up when no connection delivers a byte', async (t) => {
  const { send, ranges } = await startServer(t, { cutAfter: [0, 0, 0, 0, 0, 0] })

  const response = await download(send, '/file')

  await assert.rejects(bytesOf(response), { name: 'ConnectionError' })
  assert.equal(ranges.length, 4)
})

test('a file without a strong ETag is not resumed', async (t) => {
  const { send, ranges } = await startServer(t, { cutAfter: [1000], etags: ['W/"one"'] })

  const response = await download(send, '/file')

  await assert.rejects(bytesOf(response))
  assert.equal(ranges.length, 1)
})

describe('a reader can cancel the download, and nothing more is requested', () => {
  test('while the next bytes are on their way', async (t) => {
    const { send } = await startServer(t, { holdAfter: 1000 })
    let requests = 0
    const counted: Send = (...call) => {
      requests += 1
      return send(...call)
    }
    const response = await download(counted, '/file')
    const reader = response.body?.getReader()
    await reader?.read()
    // By then the stream is waiting for the next bytes.
    await new Promise(setImmediate)

    await reader?.cancel()
    await new Promise(setImmediate)

    assert.equal(requests, 1)
  })

  test('while it reconnects', async (t) => {
    const { send } = await startServer(t, { cutAfter: [1000] })
    const reconnecting = Promise.withResolvers<void>()
    const reconnected = Promise.withResolvers<Response>()
    let requests = 0
    const slow: Send = (...call) => {
      requests += 1
      if (requests === 1) return send(...call)
      reconnecting.resolve()
      return reconnected.promise
    }
    const response = await download(slow, '/file')
    const reader = response.body?.getReader()
    await reader?.read()
    await reconnecting.promise

    await reader?.cancel()
    await new Promise<void>((resolve) => {
      const body = new ReadableStream({
        pull: (controller) => controller.enqueue(CONTENT.subarray(1000, 2000)),
        cancel: () => resolve(),
      })
      const headers = { 'content-range': `bytes 1000-299999/${CONTENT.length}` }
      reconnected.resolve(new Response(body, { status: 206, headers }))
    })
    await new Promise(setImmediate)

    assert.equal(requests, 2)
  })
})
