import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { identityClient, paymentsClient } from '@plinth/client'
import { freePorts } from '../test/servers/free-ports.ts'
import { until } from '../test/until.ts'
import { startSuite, takePayment } from './stack.ts'

const SERVER = 2

type Span = { traceId: string; spanId: string; parentSpanId: string; name: string; kind: number }
type Batch = {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue: string } }[] }
    scopeSpans: { spans: Span[] }[]
  }[]
}

/** Receives spans over OTLP/HTTP and the events of payments; if `hung`, it never answers. */
async function startReceiver(t: TestContext, { hung = false } = {}) {
  const spans: (Span & { service: string })[] = []
  const traceparents = new Map<string, string | undefined>()
  const server = createServer(async (request, reply) => {
    if (hung) return
    if (request.url === '/events') {
      const { type } = (await json(request)) as { type: string }
      traceparents.set(type, request.headers.traceparent as string | undefined)
      return reply.end()
    }
    assert.equal(request.url, '/v1/traces')
    const { resourceSpans } = (await json(request)) as Batch
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...span, service: service?.value.stringValue ?? '' })
    }
    reply.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: url }
  return { spans, traceparents, eventsUrl: `${url}/events`, settings }
}

describe('traces', () => {
  test('connect a checkout, the call to the provider, its span there, the webhook, its rows and its event', async (t) => {
    const { spans, traceparents, eventsUrl, settings } = await startReceiver(t)
    const { urlOf } = await startSuite(t, settings)
    const payments = paymentsClient(urlOf('payments'))
    await payments.endpoints.create({ url: eventsUrl, types: ['payment.paid'] })

    await takePayment(urlOf)

    const named = (name: string) => spans.find((span) => span.name === name)
    const inSandbox = () =>
      spans.find(({ service, kind }) => service === 'plinth-sandbox' && kind === SERVER)
    const traceOfPaid = () => traceparents.get('payment.paid')?.split('-')[1]
    // Each service sends its own spans, about once a second.
    const [checkout, call, there, webhook, claim, delivery] = await until(
      () => [
        named('POST /api/checkout/sessions'),
        named('provider createSession'),
        inSandbox(),
        named('POST /api/provider/webhook'),
        named('insert webhook_events'),
        spans.find(({ name, traceId }) => name === 'deliver event' && traceId === traceOfPaid()),
      ],
      (found) => found.every((span) => span !== undefined),
    )
    assert.ok(checkout && call && there && webhook && claim && delivery)
    assert.equal(checkout.parentSpanId, '')
    assert.equal(call.parentSpanId, checkout.spanId)
    assert.equal(there.parentSpanId, call.spanId)
    assert.equal(webhook.parentSpanId, there.spanId)
    assert.equal(claim.parentSpanId, webhook.spanId)
    assert.equal(delivery.parentSpanId, webhook.spanId)
    const received = `00-${checkout.traceId}-${delivery.spanId}-01`
    assert.equal(traceparents.get('payment.paid'), received)
    for (const span of [call, there, webhook, delivery])
      assert.equal(span.traceId, checkout.traceId)
    assert.deepEqual([checkout.service, there.service], ['plinth-payments', 'plinth-sandbox'])
  })

  test('continue the trace that a caller names', async (t) => {
    const { spans, settings } = await startReceiver(t)
    const { urlOf } = await startSuite(t, settings)
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const traceparent = `00-${traceId}-b7ad6b7169203331-00`

    await fetch(`${urlOf('identity')}/api/users/me`, { headers: { traceparent } })

    const [span] = await until(
      () => spans.filter(({ name }) => name === 'GET /api/users/me'),
      (found) => found.length > 0,
    )
    assert.deepEqual([span?.traceId, span?.parentSpanId], [traceId, 'b7ad6b7169203331'])
  })

  const unusable = {
    hangs: async (t: TestContext) => (await startReceiver(t, { hung: true })).settings,
    'is gone': async () => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(await freePorts(1))[0]}`,
    }),
  }
  for (const [what, settingsFor] of Object.entries(unusable))
    test(`are dropped and counted when the receiver ${what}, and no request waits for it`, async (t) => {
      const [port] = await freePorts(1)
      const { urlOf } = await startSuite(t, {
        ...(await settingsFor(t)),
        // If requests waited for the receiver, this test would time out before they were answered.
        OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
        SUITE_MANAGEMENT_PORT: String(port),
      })
      const identity = identityClient(urlOf('identity'))

      for (let index = 0; index < 3_000; index += 50)
        await Promise.all(
          Array.from({ length: 50 }, () => assert.rejects(identity.account.get(), { status: 401 })),
        )

      await until(
        async () => (await fetch(`http://127.0.0.1:${port}/actuator/prometheus`)).text(),
        (metrics) => /^plinth_spans_dropped_total\{service="identity"\} [1-9]/m.test(metrics),
      )
    })
})
