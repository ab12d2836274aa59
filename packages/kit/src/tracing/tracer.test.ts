import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { until } from '../../../../test/until.ts'
import { Metrics, type Sample } from '../metrics/metrics.ts'
import { createTracer } from './tracer.ts'

async function startReceiver(
  t: TestContext,
  onRequest: (answer: (status?: number) => void) => void,
) {
  const server = createServer((_request, reply) =>
    onRequest((status = 200) => reply.writeHead(status).end('{}')),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/v1/traces`
}

const tracerFor = (
  endpoint: string,
  sampling = { ratio: 1, followsParent: true },
  metrics = new Metrics(),
  nowMs?: () => number,
) =>
  createTracer(
    {
      endpoint,
      headers: {},
      timeoutMs: 600_000,
      ...sampling,
      serviceName: undefined,
      attributes: {},
    },
    'test',
    metrics,
    nowMs,
  )

describe('sampling', () => {
  const ids = Array.from({ length: 2_000 }, () => randomBytes(16).toString('hex'))

  test('is decided by the trace id, so that all services agree, and matches the ratio', async (t) => {
    const sampling = { ratio: 0.25, followsParent: true }
    const [one, other] = [tracerFor('http://localhost', sampling), tracerFor('http://x', sampling)]
    t.after(() => Promise.all([one.close(), other.close()]))

    const chosen = ids.filter((id) => one.isSampled(id))

    assert.deepEqual(
      chosen,
      ids.filter((id) => other.isSampled(id)),
    )
    assert.ok(chosen.length > 300 && chosen.length < 700, String(chosen.length))
  })

  test('is decided by a trusted caller, unless the sampler asks for the ratio alone', async (t) => {
    const follows = tracerFor('http://localhost', { ratio: 0, followsParent: true })
    const alone = tracerFor('http://localhost', { ratio: 1, followsParent: false })
    t.after(() => Promise.all([follows.close(), alone.close()]))
    const [id = ''] = ids

    assert.deepEqual([follows.isSampled(id, true), follows.isSampled(id)], [true, false])
    assert.deepEqual([alone.isSampled(id, false), alone.isSampled(id)], [true, true])
  })
})

describe('a receiver that refuses', () => {
  const BATCH = 512
  const QUEUE = 2_048

  test('is left alone for five seconds, and then tried again', async (t) => {
    let tries = 0
    const endpoint = await startReceiver(t, (answer) => {
      tries += 1
      answer(503)
    })
    let atMs = 1_000
    const metrics = new Metrics()
    const tracer = tracerFor(endpoint, undefined, metrics, () => atMs)
    t.after(() => tracer.close())
    const trace = (spans: number) => {
      for (let span = 0; span < spans; span++)
        tracer.start('server', undefined).end('GET', {}, false)
    }
    const dropped = async () => {
      const families = await metrics.read()
      const samples = families.find(({ name }) => name === 'plinth_spans_dropped_total')?.samples
      return (samples as Sample[]).reduce((sum, { value }) => sum + value, 0)
    }

    trace(BATCH)
    await until(dropped, (count) => count === BATCH)
    atMs += 4_999
    trace(QUEUE + 100)
    await until(dropped, (count) => count === BATCH + 100)
    // An attempt of the tracer would have reached the receiver before this request.
    await fetch(endpoint)
    assert.equal(tries, 2)

    atMs += 1
    await until(
      () => tries,
      (count) => count === 3,
    )
  })
})

describe('a tracer that closes', () => {
  test('sends the remaining spans', async (t) => {
    let received = 0
    const endpoint = await startReceiver(t, (answer) => {
      received += 1
      answer()
    })
    const tracer = tracerFor(endpoint)

    tracer.start('server', undefined).end('GET /', {}, false)
    await tracer.close()

    assert.equal(received, 1)
  })

  test('does not wait for a receiver that hangs', { timeout: 60_000 }, async (t) => {
    const endpoint = await startReceiver(t, () => {})
    const tracer = tracerFor(endpoint)

    tracer.start('server', undefined).end('GET /', {}, false)
    await tracer.close()
  })
})
