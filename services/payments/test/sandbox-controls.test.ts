import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { startLoop } from './start-loop.ts'
import { startPayments } from './start-payments.ts'

const CONTROLS = '/api-test/sandbox'

/** Another stand-in for the provider: it answers everything, and counts what it was asked. */
async function startStranger(t: TestContext) {
  const asked: string[] = []
  const server = createServer(({ method, url }, response) => {
    asked.push(`${method} ${url}`)
    response.end('{"object":"list","data":[]}')
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((listening) => server.once('listening', listening))
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe('the sandbox’s controls at /api-test/sandbox', () => {
  test('read and move the clock, and a checkout expires', async (t) => {
    const { api, checkOut, payment } = await startLoop(t)
    const { body: checkout } = await checkOut()
    const before = await api.get(`${CONTROLS}/clock`)

    const moved = await api.post(`${CONTROLS}/clock/advance`, { seconds: 90_000 })

    assert.equal(before.body.offsetSeconds, 0)
    assert.deepEqual([moved.status, moved.body.offsetSeconds], [200, 90_000])
    assert.equal((await payment(checkout.paymentId)).checkoutStatus, 'EXPIRED')
    const back = await api.delete(`${CONTROLS}/clock`)
    assert.deepEqual([back.status, back.body.offsetSeconds], [200, 0])
  })

  test('add, list and remove a fault, and a checkout is refused meanwhile', async (t) => {
    const { api, checkOut } = await startLoop(t)

    const fault = { kind: 'rate-limit', route: 'POST /v1/checkout/sessions', times: null }
    const added = await api.post(`${CONTROLS}/faults`, fault)
    const refused = await checkOut()
    const listed = await api.get(`${CONTROLS}/faults`)
    const removed = await api.delete(`${CONTROLS}/faults/${added.body.id}`)

    assert.deepEqual([added.status, refused.status, removed.status], [201, 429, 204])
    assert.deepEqual(
      listed.body.faults.map(({ kind }: { kind: string }) => kind),
      ['rate-limit'],
    )
    assert.equal((await checkOut()).status, 201)
  })

  test('turn the switches of the deliveries and turn them back', async (t) => {
    const { api } = await startLoop(t)

    const turned = await api.patch(`${CONTROLS}/switches`, { paused: true })
    const reset = await api.delete(`${CONTROLS}/switches`)

    assert.deepEqual([turned.body.paused, reset.body.paused], [true, false])
  })

  test('hand on the sandbox’s own refusal, under the caller’s request id', async (t) => {
    const { api } = await startLoop(t)

    const refused = await api.request('POST', `${CONTROLS}/clock/advance`, {
      body: JSON.stringify({ seconds: -1 }),
      headers: { 'content-type': 'application/json', 'x-request-id': 'mine' },
    })

    assert.equal(refused.status, 400)
    assert.equal(refused.headers.get('content-type'), 'application/problem+json')
    assert.deepEqual([refused.body.code, refused.body.requestId], ['VALIDATION_ERROR', 'mine'])
  })

  test('are only these: no reset, no secrets, no other path', async (t) => {
    const { api } = await startLoop(t)

    for (const path of ['reset', 'webhook-endpoints', 'scenario', 'faults/1/..%2f..%2freset'])
      assert.equal((await api.post(`${CONTROLS}/${path}`, {})).status, 404, path)
    assert.equal((await api.get(`${CONTROLS}/webhook-endpoints`)).status, 404)
    assert.equal((await api.delete(`${CONTROLS}/faults/..%2fclock`)).status, 400)
  })

  test('are 503 when the sandbox is gone', async (t) => {
    const env = { PROVIDER_SECRET_KEY: 'sk_test_x', PROVIDER_API_BASE: 'http://127.0.0.1:9' }
    const { api } = await startPayments(t, { env })

    const reply = await api.get(`${CONTROLS}/clock`)

    assert.deepEqual([reply.status, reply.body.code], [503, 'PROVIDER_UNAVAILABLE'])
  })
})

describe('there are no sandbox controls, and no path to them', () => {
  const refused = async (t: TestContext, env: Record<string, string>) => {
    const { api } = await startPayments(t, { env })
    assert.equal((await api.get(`${CONTROLS}/clock`)).status, 404)
    assert.equal((await api.post(`${CONTROLS}/clock/advance`, { seconds: 1 })).status, 404)
  }

  test('with a real provider', (t) => refused(t, { PROVIDER_SECRET_KEY: 'sk_test_x' }))

  test('with a live key, wherever it is sent', async (t) => {
    const { asked, url } = await startStranger(t)

    await refused(t, { PROVIDER_SECRET_KEY: 'sk_live_x', PROVIDER_API_BASE: url })

    assert.deepEqual(asked, [])
  })

  test('in production', (t) =>
    refused(t, {
      NODE_ENV: 'production',
      PAYMENTS_CONSOLE: 'true',
      PROVIDER_SECRET_KEY: 'sk_test_x',
      PROVIDER_API_BASE: 'http://127.0.0.1:9',
    }))

  test('with another stand-in, which is asked for its name and nothing else', async (t) => {
    const { asked, url } = await startStranger(t)

    await refused(t, { PROVIDER_SECRET_KEY: 'sk_test_x', PROVIDER_API_BASE: url })

    assert.deepEqual(
      asked.filter((call) => !call.includes(' /v1/')),
      ['GET /actuator/info', 'GET /actuator/info'],
    )
  })
})
