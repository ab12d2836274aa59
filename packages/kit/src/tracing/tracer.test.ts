import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { Metrics } from '../metrics/metrics.ts'
import { createTracer } from './tracer.ts'

async function startReceiver(t: TestContext, onRequest: (answer: () => void) => void) {
  const server = createServer((_request, reply) => onRequest(() => reply.end('{}')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/v1/traces`
}

const tracerFor = (endpoint: string, sampling = { ratio: 1, followsParent: true }) =>
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
    new Metrics(),
  )

describe('what is traced', () => {
  const ids = Array.from({ length: 2_000 }, () => randomBytes(16).toString('hex'))

  test('is decided by the id, so that all services decide alike, and as often as the ratio says', async (t) => {
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

describe('a tracer that closes', () => {
  test('sends what is left', async (t) => {
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
