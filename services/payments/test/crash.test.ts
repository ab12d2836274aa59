import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { systemClock } from '@plinth/kit/runtime'
import { type Api, type ApiReply, spawnService, testClock } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { checkoutBody, providerEnv, startSandbox } from './start-loop.ts'
import { delivererTo, engines, startPayments, WEBHOOK_SECRET } from './start-payments.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')

type Engine = (typeof engines)[number]

/** A sandbox that outlives the payment service, and the service as a process that can be killed. */
async function start(t: TestContext, engine: Engine, failPoint: string) {
  const sandbox = await startSandbox(t, systemClock)
  const env = {
    ...(providerEnv(sandbox) as Record<string, string>),
    PROVIDER_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PAYMENTS_PORT: '0',
    PAYMENTS_DATABASE_URL: await engine.freshUrl(t),
    PAYMENTS_LEASE_SECONDS: '1',
    PAYMENTS_LOOK_EVERY_SECONDS: '1',
  }
  const first = await spawnService(t, MAIN, { ...env, FAIL_POINT: `${failPoint}=kill` })
  /** Runs `act`, which must kill the service, and starts a new one after the dead one's lease has expired. */
  const killedBy = async (act: (api: Api) => Promise<ApiReply>) => {
    await act(first.api).then(
      (reply) => assert.fail(`survived: ${reply.status} ${JSON.stringify(reply.body)}`),
      () => {},
    )
    await first.ended
    const clock = testClock(new Date(Date.now() + 5000).toISOString())
    const { api } = await startPayments(t, { env, clock })
    return api
  }
  const paid = async (api: Api) => {
    const { body } = await api.post('/api/checkout/sessions', checkoutBody())
    await sandbox.pay(body.checkoutSessionId)
    const events = await sandbox.events()
    const completed = events.find((event: { type: string }) => event.type === COMPLETED)
    await delivererTo(api, systemClock)(completed)
    return { ...body, completed }
  }
  return { sandbox, api: first.api, killedBy, paid }
}

const COMPLETED = 'checkout.session.completed'
const ONLY_IN_ALL = { tags: ['all'] }

for (const engine of engines)
  describe(`a checkout killed on ${engine.name}`, { ...engine.options, concurrency: 4 }, () => {
    for (const point of ['reserved', 'after-provider-call', 'recorded'])
      test(
        `at checkout:${point} leads to one session, also for a caller who retries`,
        point === 'after-provider-call' ? {} : ONLY_IN_ALL,
        async (t) => {
          const { sandbox, killedBy } = await start(t, engine, `checkout:${point}`)
          const request = checkoutBody()

          const api = await killedBy((dying) => dying.post('/api/checkout/sessions', request))
          const path = `/api/payments?businessReference=${request.businessReference}`
          const recovered = await until(
            async () => (await api.get(path)).body.content[0],
            (payment) => payment?.checkoutStatus === 'OPEN',
          )
          const reply = await api.post('/api/checkout/sessions', request)

          assert.equal(reply.status, 201)
          assert.equal(reply.body.paymentId, recovered.id)
          const sessions = await sandbox.sessions()
          assert.deepEqual(
            sessions.map(({ id }: { id: string }) => id),
            [reply.body.checkoutSessionId],
          )
        },
      )

    test('at checkout:withdrawn leaves the reference free', ONLY_IN_ALL, async (t) => {
      const { sandbox, killedBy } = await start(t, engine, 'checkout:withdrawn')
      const request = checkoutBody()
      await sandbox.switch({ amountLimits: true })

      const api = await killedBy((dying) =>
        dying.post('/api/checkout/sessions', { ...request, amount: 1 }),
      )
      const reply = await api.post('/api/checkout/sessions', request)

      assert.equal(reply.status, 201)
      assert.equal((await sandbox.sessions()).length, 1)
    })
  })

for (const engine of engines)
  describe(`a refund killed on ${engine.name}`, {
    ...engine.options,
    ...ONLY_IN_ALL,
    concurrency: 4,
  }, () => {
    for (const point of ['reserved', 'after-provider-call', 'recorded'])
      test(`at refund:${point} gives exactly one refund`, async (t) => {
        const { sandbox, killedBy, paid, api: first } = await start(t, engine, `refund:${point}`)
        const { paymentId } = await paid(first)
        const path = `/api/payments/${paymentId}/refund`
        const request = { reference: 'r', amount: 400 }

        const api = await killedBy((dying) => dying.post(path, request))
        await until(
          async () => (await api.get(`/api/payments/${paymentId}`)).body,
          ({ refundedAmount }) => refundedAmount === 400,
        )
        const reply = await api.post(path, request)

        const refunds = await sandbox.refunds()
        assert.equal(reply.status, 201)
        assert.deepEqual(
          refunds.map(({ id }: { id: string }) => id),
          [reply.body.id],
        )
        assert.equal((await sandbox.books()).totals.eur.refunded, 400)
      })

    test('at refund:withdrawn keeps no money reserved', async (t) => {
      const { sandbox, killedBy, paid, api: first } = await start(t, engine, 'refund:withdrawn')
      const { paymentId } = await paid(first)
      const path = `/api/payments/${paymentId}/refund`
      await sandbox.fault({ kind: 'rate-limit', route: 'POST /v1/refunds' })

      const api = await killedBy((dying) => dying.post(path, { reference: 'r', amount: 400 }))
      const reply = await api.post(path, { reference: 'r', amount: 1000 })

      assert.equal(reply.status, 201)
      assert.equal((await sandbox.books()).totals.eur.refunded, 1000)
    })
  })

for (const engine of engines)
  describe(`a webhook killed on ${engine.name}`, {
    ...engine.options,
    ...ONLY_IN_ALL,
    concurrency: 4,
  }, () => {
    for (const point of ['claimed', 'applied', 'committed'])
      test(`at webhook:${point} takes effect once when it is delivered again`, async (t) => {
        const { sandbox, killedBy, api: first } = await start(t, engine, `webhook:${point}`)
        const { body } = await first.post('/api/checkout/sessions', checkoutBody())
        await sandbox.pay(body.checkoutSessionId)
        const events = await sandbox.events()
        const completed = events.find((event: { type: string }) => event.type === COMPLETED)

        const api = await killedBy((dying) => delivererTo(dying, systemClock)(completed))
        const reply = await delivererTo(api, systemClock)(completed)

        assert.equal(reply.status, 200)
        assert.equal(reply.body.status, 'PROCESSED')
        assert.equal(reply.body.duplicate, point === 'committed')
        const { body: timeline } = await api.get(`/api/payments/${body.paymentId}/timeline`)
        assert.equal(timeline.status, 'PAID')
        const seen = timeline.observations.filter((step: { eventId: string }) => step.eventId)
        assert.equal(seen.length, 1)
      })
  })
