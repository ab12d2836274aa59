import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ApiReply } from '@plinth/kit/testing'
import { shared } from './shared.ts'
import { startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

type Expected = { kind: string; status: number; title: string; retryAfter?: boolean }

const FAILURES: Expected[] = [
  { kind: 'rate-limit', status: 429, title: 'Provider rate limit exceeded', retryAfter: true },
  { kind: 'unauthorized', status: 503, title: 'Provider authentication failed' },
  { kind: 'forbidden', status: 503, title: 'Provider authentication failed' },
  { kind: 'error-before', status: 502, title: 'Provider request failed' },
  { kind: 'error-instead', status: 502, title: 'Provider request failed' },
  { kind: 'error-after', status: 502, title: 'Provider request failed' },
  { kind: 'html-before', status: 502, title: 'Provider request failed' },
  { kind: 'html-after', status: 502, title: 'Provider request failed' },
  { kind: 'truncated', status: 503, title: 'Provider is unavailable', retryAfter: true },
  { kind: 'reset-before', status: 503, title: 'Provider is unavailable', retryAfter: true },
  { kind: 'reset-after', status: 503, title: 'Provider is unavailable', retryAfter: true },
  { kind: 'hang', status: 503, title: 'Provider is unavailable', retryAfter: true },
]

// The client retries by itself, so a fault strikes until it is removed.
const strikes = (kind: string) => ({ kind, times: null })

for (const engine of engines)
  describe(`a failure of the provider on ${engine.name}`, engine.options, () => {
    const start = async (t: { after(work: () => void): void }, milliseconds = 10_000) =>
      startLoop(t, {
        databaseUrl: await engine.freshUrl(t),
        overrides: { providerRetries: 0, providerMilliseconds: milliseconds },
      })
    const patient = shared((scope) => start(scope))
    const hurried = shared((scope) => start(scope, 1000))

    for (const { kind, status, title, retryAfter } of FAILURES)
      test(`${kind} is ${status} everywhere and leaves one session and one refund`, async () => {
        const { api, sandbox, checkOut, paid, payment, refund } =
          kind === 'hang' ? hurried() : patient()
        const { paymentId } = await paid()
        const { body: customer } = await api.post('/api/customers', { email: 'a@localhost' })
        const { body: first } = await refund(paymentId, { reference: 'first', amount: 1 })
        const open = () => checkOut({ businessReference: kind })
        const give = () => refund(paymentId, { reference: 'r', amount: 400 })
        // On one route only: the service looks up a paid payment by itself, and must not meet the fault.
        const failing = async (route: string, act: () => Promise<ApiReply>) => {
          await sandbox.clearFaults()
          await sandbox.fault({ ...strikes(kind), route })
          return act()
        }

        const replies = [
          await failing('POST /v1/customers', () =>
            api.post('/api/customers', { email: 'a@localhost' }),
          ),
          await failing('GET /v1/customers/:id', () => api.get(`/api/customers/${customer.id}`)),
          await failing('POST /v1/checkout/sessions', open),
          await failing('POST /v1/refunds', give),
          await failing('GET /v1/refunds/:id', () => api.get(`/api/refunds/${first.id}`)),
        ]
        await sandbox.clearFaults()
        const again = [await open(), await give()]

        for (const reply of replies) assertProblem(reply, { status, title, retryAfter })
        assert.deepEqual(
          again.map((reply) => reply.status),
          [201, 201],
        )
        assert.equal((await sandbox.sessionsBy('businessReference'))[kind].open, 1)
        const { providerPaymentIntentId } = await payment(paymentId)
        const made = (await sandbox.refunds()).filter(
          (made: { payment_intent: string }) => made.payment_intent === providerPaymentIntentId,
        )
        assert.equal(made.length, 2)
      })

    test('a refusal after a lost try proves nothing: the refund that was made is found', async (t) => {
      const { paid, refund, sandbox, payment } = await start(t)
      const { paymentId } = await paid()
      const route = 'POST /v1/refunds'
      await sandbox.switch({ drop: ['*'] })
      await sandbox.fault({ kind: 'reset-after', route })
      await sandbox.fault({ kind: 'rate-limit', route })

      const refused = await refund(paymentId, { reference: 'r1', amount: 600 })
      const beyond = await refund(paymentId, { reference: 'r2', amount: 600 })
      const again = await refund(paymentId, { reference: 'r1', amount: 600 })

      assert.equal(refused.status, 429)
      assert.equal(beyond.status, 400)
      assert.equal(again.status, 201)
      assert.equal((await sandbox.refunds()).length, 1)
      assert.equal((await payment(paymentId)).refundedAmount, 600)
    })

    for (const kind of ['rate-limit', 'unauthorized'])
      test(`${kind} on reading again what a lost try made leaves one refund and one session`, async (t) => {
        const { checkOut, paid, refund, sandbox, payment } = await start(t)
        const { paymentId } = await paid()
        await sandbox.switch({ drop: ['*'] })
        await sandbox.fault({ kind: 'reset-after', route: 'POST /v1/refunds' })
        await sandbox.fault({ kind, route: 'GET /v1/refunds/:id' })
        await sandbox.fault({ kind: 'reset-after', route: 'POST /v1/checkout/sessions' })
        await sandbox.fault({ kind, route: 'GET /v1/checkout/sessions/:id' })
        const give = () => refund(paymentId, { reference: 'r', amount: 400 })
        const open = () => checkOut({ businessReference: 'b' })

        const failed = [await give(), await open()]
        await sandbox.struck()
        const again = [await give(), await open()]

        const { status } = FAILURES.find((failure) => failure.kind === kind) as Expected
        const statuses = [...failed, ...again].map((reply) => reply.status)
        assert.deepEqual(statuses, [status, status, 201, 201])
        assert.equal((await sandbox.refunds()).length, 1)
        assert.equal((await payment(paymentId)).refundedAmount, 400)
        assert.equal((await sandbox.sessionsBy('businessReference')).b.open, 1)
      })

    test('a request that is still in progress is 409 and may be tried again', async (t) => {
      const { checkOut, sandbox } = await start(t)
      await sandbox.fault({ kind: 'in-use', route: 'POST /v1/checkout/sessions' })

      const busy = await checkOut({ businessReference: 'b' })

      assert.equal(busy.status, 409)
      assert.match(busy.headers.get('retry-after') ?? '', /^\d+$/)
      assert.equal((await checkOut({ businessReference: 'b' })).status, 201)
    })

    test('a payment intent that the provider has lost is 502 and reserves nothing', async (t) => {
      const { checkOut, refund, sandbox, timeline } = await start(t)
      const { body } = await checkOut()
      const [session] = await sandbox.sessions()
      const paid = { ...session, status: 'complete', payment_status: 'paid' }
      const object = { ...paid, payment_intent: 'pi_lost' }
      await sandbox.forge({ type: 'checkout.session.completed', object })
      await sandbox.flush()

      const reply = await refund(body.paymentId, { reference: 'r' })

      assert.equal(reply.status, 502)
      assert.equal(reply.body.code, 'PROVIDER_INCONSISTENT')
      const { status, refundableAmount } = await timeline(body.paymentId)
      assert.deepEqual([status, refundableAmount], ['PAID', 1000])
    })

    test('money refunded elsewhere is found when a refund is refused', async (t) => {
      const { paid, payment, refund, sandbox } = await start(t)
      const { paymentId } = await paid()
      const { providerPaymentIntentId } = await payment(paymentId)
      await sandbox.switch({ drop: ['*'] })
      await sandbox.dashboardRefund(providerPaymentIntentId, 800)

      const reply = await refund(paymentId, { reference: 'r', amount: 300 })

      assert.equal(reply.status, 400)
      assert.equal(reply.body.code, 'REFUND_EXCEEDS_BALANCE')
      assert.equal(reply.body.refundableAmount, 200)
      assert.equal((await payment(paymentId)).refundedAmount, 800)
      assert.equal((await refund(paymentId, { reference: 'r', amount: 200 })).status, 201)
    })
  })

function assertProblem(reply: ApiReply, { status, title, retryAfter }: Omit<Expected, 'kind'>) {
  assert.equal(reply.status, status, JSON.stringify(reply.body))
  assert.equal(reply.body.title, title)
  assert.equal(reply.headers.get('content-type'), 'application/problem+json')
  assert.doesNotMatch(reply.bytes.toString(), /sk_test/)
  if (retryAfter) assert.match(reply.headers.get('retry-after') ?? '', /^\d+$/)
}
