import assert from 'node:assert/strict'
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

const tracerFor = (endpoint: string) =>
  createTracer(
    {
      endpoint,
      headers: {},
      timeoutMs: 600_000,
      ratio: 1,
      serviceName: undefined,
      attributes: {},
    },
    'test',
    new Metrics(),
  )

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
