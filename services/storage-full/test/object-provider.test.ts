import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { registerHooks } from 'node:module'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, describe, type TestContext, test } from 'node:test'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { createObjectProvider } from '../src/locations/providers/object.ts'
import { codesOf, providerSuite, sourceFile } from './provider-suite.ts'

const PATIENT = { connectMs: 2_000, answerMs: 10_000, isForbidden: () => false }
const IMPATIENT = { ...PATIENT, answerMs: 2_000 }
// The WHATWG "bad ports" that need no privilege: `fetch` refuses all of them.
const PORTS_BROWSERS_REFUSE = [10_080, 6697, 6669, 6668, 6667, 6666, 6665, 6566, 6000, 5061, 5060]
const UNAVAILABLE = { code: 'STORAGE_UNAVAILABLE', status: 503 }

const skip = await s3Missing()
const s3 = skip ? ({} as S3Server) : await startS3({ after })
const folder = await mkdtemp(join(tmpdir(), 'providers-'))
after(() => rm(folder, { recursive: true, force: true }))

const object = createObjectProvider(s3.settings, PATIENT)
after(() => object.close())
providerSuite('an S3-style bucket', {
  open: (prefix) => createObjectProvider(s3.settings, PATIENT, prefix),
  folder,
  skip,
})

describe('an S3-style bucket that fails', { skip }, () => {
  const failing = async (settings: Partial<S3Server['settings']>) => {
    const provider = createObjectProvider({ ...s3.settings, ...settings }, PATIENT)
    const [steps, error] = await Promise.all([
      provider.probe(),
      provider.put('x/y', await sourceFile(folder, randomBytes(9))).catch((caught) => caught),
    ])
    provider.close()
    return { failed: steps.find(({ passed }) => !passed), error }
  }

  test('with a wrong secret: the step is named, no credential is shown', async () => {
    const { failed, error } = await failing({ secretKey: 'another-secret' })

    assert.equal(failed?.name, 'credentials')
    assert.equal(error.code, 'STORAGE_UNAVAILABLE')
    const shown = JSON.stringify([failed, error, error.message, error.cause, error.cause.message])
    assert.doesNotMatch(shown, /another-secret|tester|127\.0\.0\.1/)
  })

  test('with a missing bucket', async () => {
    const { failed, error } = await failing({ bucket: 'no-such-bucket' })

    assert.equal(failed?.name, 'bucket')
    assert.equal(error.code, 'STORAGE_UNAVAILABLE')
  })

  test('with a missing bucket: no object in it counts as absent', async () => {
    const provider = createObjectProvider({ ...s3.settings, bucket: 'no-such-bucket' }, PATIENT)

    const calls = [provider.open('x/y'), provider.sizeOf('x/y'), provider.remove('x/y')]
    const outcomes = await Promise.allSettled(calls)

    assert.deepEqual(codesOf(outcomes), new Set(['STORAGE_UNAVAILABLE']))
    provider.close()
  })

  test('with a key that may write but not read: the test says so', async (t) => {
    const server = createServer((request, response) => {
      const reads = request.method === 'GET' && request.url?.includes('probe-')
      request.resume()
      response.writeHead(reads ? 403 : 200).end()
    })
    t.after(() => void server.close())
    const provider = createObjectProvider(await settingsFor(server), PATIENT)
    t.after(() => provider.close())

    const last = (await provider.probe()).at(-1)

    assert.deepEqual([last?.name, last?.passed], ['read back', false])
    assert.match(last?.message ?? '', /cannot be read: check the rights of the access key/)
  })

  test('with nothing listening at the endpoint', async () => {
    const { failed, error } = await failing({ endpoint: 'http://127.0.0.1:1' })

    assert.equal(failed?.name, 'connect')
    assert.equal(error.code, 'STORAGE_UNAVAILABLE')
  })

  test('at a port that browsers refuse: it is tested like any other', async (t) => {
    const server = createServer((_request, response) => response.writeHead(403).end())
    t.after(() => void server.close())
    const port = await listenOnOneOf(server, PORTS_BROWSERS_REFUSE)

    const { failed } = await failing({ endpoint: `http://127.0.0.1:${port}` })

    assert.equal(failed?.name, 'credentials')
  })

  test('behind a port that speaks neither TLS nor HTTP', async (t) => {
    const server = createTcpServer((socket) => socket.on('error', () => {}).end('SSH-2.0\r\n'))
    t.after(() => void server.close())
    const port = await listenOnOneOf(server, [0])

    for (const scheme of ['http', 'https']) {
      const { failed } = await failing({ endpoint: `${scheme}://127.0.0.1:${port}` })

      assert.equal(failed?.name, 'connect')
    }
  })

  test('with a host name that does not resolve', async () => {
    const { failed } = await failing({ endpoint: 'http://nowhere.invalid' })

    assert.equal(failed?.name, 'resolve')
  })

  test('hung: every call times out, and works again when the store does', {
    tags: ['all'],
  }, async () => {
    const provider = createObjectProvider(s3.settings, IMPATIENT)
    const small = await sourceFile(folder, randomBytes(10))
    const large = await sourceFile(folder, randomBytes(20_000_000))
    await object.put('hung/small', small)
    s3.pause()

    const calls = [
      provider.put('hung/new', small),
      provider.put('hung/large', large),
      provider.open('hung/small'),
      provider.sizeOf('hung/small'),
      provider.remove('hung/small'),
      provider.check(),
      Array.fromAsync(provider.list('hung')),
    ]

    const outcomes = await Promise.allSettled(calls)
    s3.resume()
    assert.deepEqual(codesOf(outcomes), new Set(['STORAGE_UNAVAILABLE']))
    await object.sizeOf('hung/small')
    provider.close()
  })

  test('hung in the middle of a download: the stream ends with an error', {
    tags: ['all'],
  }, async () => {
    const provider = createObjectProvider(s3.settings, IMPATIENT)
    await object.put('hung/body', await sourceFile(folder, randomBytes(30_000_000)))
    const stream = await provider.open('hung/body')
    s3.pause()

    try {
      await assert.rejects(buffer(stream as Readable))
    } finally {
      s3.resume()
    }
    provider.close()
  })

  test('killed in the middle of an upload: nothing is left of it', { tags: ['all'] }, async () => {
    const provider = createObjectProvider(s3.settings, IMPATIENT)
    const large = await sourceFile(folder, randomBytes(60_000_000))
    await object.put('killed/before', await sourceFile(folder, randomBytes(10)))

    const upload = provider.put('killed/large', large)
    const [rejected] = await Promise.all([assert.rejects(upload, UNAVAILABLE), s3.kill()])

    assert.equal(rejected, undefined)
    await assert.rejects(provider.check(), UNAVAILABLE)
    await s3.restart()
    assert.deepEqual(await Array.fromAsync(object.list('killed')), ['killed/before'])
    provider.close()
  })

  test('with a full disk: an upload is refused and leaves nothing, and stored objects stay', async (t) => {
    const full = await startS3(t, { smallDisk: true })
    const provider = createObjectProvider(full.settings, PATIENT)
    await provider.put('full/small', await sourceFile(folder, randomBytes(1000)))

    const large = await sourceFile(folder, randomBytes(50_000_000))
    await assert.rejects(provider.put('full/large', large), UNAVAILABLE)

    assert.deepEqual(await Array.fromAsync(provider.list('full')), ['full/small'])
    assert.equal(await provider.sizeOf('full/small'), 1000)
    provider.close()
  })

  test('releases the connection when a reader stops early', async () => {
    const provider = createObjectProvider(s3.settings, PATIENT)
    await object.put('leave/body', await sourceFile(folder, randomBytes(30_000_000)))
    const stream = await provider.open('leave/body')
    if (stream) {
      stream.destroy()
      await once(stream, 'close')
    }

    assert.equal(await provider.sizeOf('leave/body'), 30_000_000)
    provider.close()
  })
})

describe('an object store whose connection breaks', () => {
  for (const size of [100, 3_000_000])
    test(`once: all ${size} bytes are sent again`, async (t) => {
      const bytes = randomBytes(size)
      const { settings, requests, stored } = await breakingStore(t, { times: 1 })
      const provider = createObjectProvider(settings, PATIENT)
      t.after(() => provider.close())

      await provider.put('x/y', await sourceFile(folder, bytes))

      assert.equal(requests(), 2)
      assert.ok(stored()?.equals(bytes))
    })

  test('repeatedly: the store is unavailable', async (t) => {
    const { settings, requests } = await breakingStore(t, { times: 9 })
    const provider = createObjectProvider(settings, PATIENT)
    t.after(() => provider.close())

    await assert.rejects(provider.put('x/y', await sourceFile(folder, randomBytes(9))), UNAVAILABLE)

    assert.equal(requests(), 2)
  })
})

describe('an object store that is busy', () => {
  for (const status of [429, 500, 502, 503, 504])
    test(`once, with ${status}: the upload is sent again`, async (t) => {
      const bytes = randomBytes(3_000_000)
      const { settings, requests, stored } = await breakingStore(t, { times: 1, status })
      const provider = createObjectProvider(settings, PATIENT)
      t.after(() => provider.close())

      await provider.put('x/y', await sourceFile(folder, bytes))

      assert.equal(requests(), 2)
      assert.ok(stored()?.equals(bytes))
    })

  for (const [what, status, sent] of [
    ['repeatedly', 503, 2],
    ['not, but forbids the upload', 403, 1],
  ] as const)
    test(`${what}: the upload fails after ${sent}`, async (t) => {
      const { settings, requests } = await breakingStore(t, { times: 9, status })
      const provider = createObjectProvider(settings, PATIENT)
      t.after(() => provider.close())
      const source = await sourceFile(folder, randomBytes(9))

      await assert.rejects(provider.put('x/y', source), UNAVAILABLE)

      assert.equal(requests(), sent)
    })
})

describe('a store asked for bytes 2-4 of ten', () => {
  const open = async (t: TestContext, status: number, body: string, contentRange?: string) => {
    const length = { 'content-length': body.length }
    const headers = contentRange ? { ...length, 'content-range': contentRange } : length
    const server = createServer((_request, reply) => reply.writeHead(status, headers).end(body))
    t.after(() => void server.close())
    const provider = createObjectProvider(await settingsFor(server), PATIENT)
    t.after(() => provider.close())
    return provider.open('x/y', { start: 2, end: 4 })
  }

  test('that sends them is believed', async (t) => {
    const stream = await open(t, 206, '234', 'bytes 2-4/10')

    assert.equal((await buffer(stream as Readable)).toString(), '234')
  })

  for (const [what, status, body, contentRange] of [
    ['others of the same number', 206, '012', 'bytes 0-2/10'],
    ['three without saying which', 200, '012', undefined],
    ['all of them', 200, '0123456789', undefined],
  ] as const)
    test(`that sends ${what} is unavailable`, async (t) => {
      await assert.rejects(open(t, status, body, contentRange), UNAVAILABLE)
    })
})

test('if loading the SDK fails, the next call loads it', async (t) => {
  const { settings, stored } = await breakingStore(t, { times: 0 })
  const provider = createObjectProvider(settings, PATIENT)
  t.after(() => provider.close())
  const source = await sourceFile(folder, randomBytes(9))
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === '@aws-sdk/client-s3') throw new Error('too many open files')
      return next(specifier, context)
    },
  })

  await assert.rejects(provider.put('x/y', source), /too many open files/)
  hooks.deregister()
  await provider.put('x/y', source)

  assert.equal(stored()?.length, 9)
})

/** Resets its first `times` connections, or answers them with `status`, then stores what it receives. */
async function breakingStore(
  t: TestContext,
  { times, status }: { times: number; status?: number },
) {
  let [requests, stored] = [0, undefined as Buffer | undefined]
  const server = createServer(async (request, response) => {
    requests += 1
    if (requests <= times && status) return void response.writeHead(status).end()
    if (requests <= times) return void request.socket.resetAndDestroy()
    stored = await buffer(request)
    response.writeHead(200, { etag: '"x"' }).end()
  })
  t.after(() => void server.close())
  return { settings: await settingsFor(server), requests: () => requests, stored: () => stored }
}

async function settingsFor(server: Server) {
  const endpoint = `http://127.0.0.1:${await listenOnOneOf(server, [0])}`
  const keys = { accessKey: 'tester', secretKey: 'tester-secret' }
  return { endpoint, region: 'r', bucket: 'b', pathStyleAccess: true, ...keys }
}

async function listenOnOneOf(server: Server, ports: number[]): Promise<number> {
  for (const port of ports) {
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening')
      return (server.address() as AddressInfo).port
    } catch {} // This one is taken.
  }
  throw new Error('Every port is taken')
}
