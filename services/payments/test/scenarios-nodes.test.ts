import assert from 'node:assert/strict'
import { EventEmitter, on } from 'node:events'
import { describe, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { type Reply, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv, startSandbox } from './start-loop.ts'
import { bothEngines, startPayments } from './start-payments.ts'

const idsOf = (replies: { body: { paymentId: string; checkoutSessionId: string } }[]) =>
  new Set(replies.map(({ body }) => `${body.paymentId} ${body.checkoutSessionId}`))

// On SQLite the two nodes are two connections to one file, on PostgreSQL two pools.
for (const engine of bothEngines)
  describe(`two nodes on one ${engine.name}`, engine.options, () => {
    const start = async (t: { after(work: () => void): void }, skewSeconds = 0) => {
      const clock = testClock()
      const sandbox = await startSandbox(t, clock)
      const skewed = testClock()
      skewed.advance(skewSeconds)
      const options = { env: providerEnv(sandbox), databaseUrl: await engine.freshUrl(t) }
      const nodes = [
        await startPayments(t, { ...options, clock }),
        await startPayments(t, { ...options, clock: skewed }),
      ] as const
      const nodeFor = (index: number) => nodes[index % 2 === 0 ? 0 : 1]
      const atOnce = <T>(
        count: number,
        act: (node: (typeof nodes)[0], index: number) => Promise<T>,
      ) => Promise.all(Array.from({ length: count }, (_, index) => act(nodeFor(index), index)))
      const paid = async () => {
        const { body } = await nodes[0].api.post('/api/checkout/sessions', checkoutBody())
        await sandbox.pay(body.checkoutSessionId)
        const [event] = await sandbox.events()
        await nodes[0].deliver(event)
        return body
      }
      return { nodes, sandbox, atOnce, paid }
    }

    test('twenty creates at once give one payment and one session', async (t) => {
      const { sandbox, atOnce } = await start(t)
      const request = checkoutBody()

      const replies = await atOnce(20, ({ api }) => api.post('/api/checkout/sessions', request))

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
      assert.equal(idsOf(replies).size, 1)
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('with two different amounts one wins and the others are 409', async (t) => {
      const { sandbox, atOnce } = await start(t)
      const request = checkoutBody()

      const replies = await atOnce(10, ({ api }, index) =>
        api.post('/api/checkout/sessions', { ...request, amount: 1000 + (index % 3) }),
      )

      const winners = replies.filter(({ status }) => status === 201)
      const losers = replies.filter(({ status }) => status === 409)
      assert.equal(winners.length + losers.length, 10)
      assert.equal(idsOf(winners).size, 1)
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('with different attempt references there is still one session', async (t) => {
      const { sandbox, atOnce } = await start(t)
      const request = checkoutBody()

      const replies = await atOnce(10, ({ api }, index) =>
        api.post('/api/checkout/sessions', { ...request, attemptReference: `a${index}` }),
      )

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
      assert.equal(idsOf(replies).size, 1)
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('refunds of 600 and 600 of 1000 at once give one refund', async (t) => {
      const { sandbox, atOnce, paid } = await start(t)
      const { paymentId } = await paid()

      const replies = await atOnce(2, ({ api }, index) =>
        api.post(`/api/payments/${paymentId}/refund`, { reference: `r${index}`, amount: 600 }),
      )

      assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 400])
      assert.equal((await sandbox.refunds()).length, 1)
      const calls = await sandbox.requests()
      const posts = calls.filter(({ path }: { path: string }) => path === '/v1/refunds')
      assert.equal(posts.filter(({ method }: { method: string }) => method === 'POST').length, 1)
    })

    test('the same refund reference at once gives every caller the same refund', async (t) => {
      const { sandbox, atOnce, paid } = await start(t)
      const { paymentId } = await paid()

      const replies = await atOnce(6, ({ api }) =>
        api.post(`/api/payments/${paymentId}/refund`, { reference: 'r', amount: 600 }),
      )

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
      assert.equal(new Set(replies.map(({ body }) => body.id)).size, 1)
      assert.equal((await sandbox.refunds()).length, 1)
    })

    test('a node that lost its lease does not withdraw the refund of another', async (t) => {
      const { provider, posts, one, two, paymentId } = await startApart(t, await engine.freshUrl(t))
      const request = { reference: 'r', amount: 400 }
      const path = `/api/payments/${paymentId}`
      const late = one.api.post(`${path}/refund`, request)
      const held = await posts.next()
      await one.payments.db.deleteFrom('leases').execute()

      const other = two.api.post(`${path}/refund`, request)
      answer(await posts.next(), REFUSED)
      const made = await posts.next()
      answer(held, REFUSED)
      const refused = await late
      const between = (await one.api.get(`${path}/timeline`)).body
      answer(made, { body: { id: 're_1', status: 'succeeded', amount: 400 } })

      assert.deepEqual([refused.status, between.refundableAmount], [400, 600])
      assert.equal((await other).body.id, 're_1')
      assert.equal((await one.api.post(`${path}/refund`, request)).body.id, 're_1')
      assert.equal(provider.asked.filter((asked) => asked === 'POST /v1/refunds').length, 3)
    })

    test('fifty deliveries at once on two nodes have one effect', async (t) => {
      const { nodes, sandbox, atOnce } = await start(t)
      const { body } = await nodes[0].api.post('/api/checkout/sessions', checkoutBody())
      await sandbox.pay(body.checkoutSessionId)
      const events = await sandbox.events()
      const completed = events.find(
        ({ type }: { type: string }) => type === 'checkout.session.completed',
      )

      const replies = await atOnce(50, ({ deliver }) => deliver(completed))

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
      assert.equal(replies.filter((reply) => !reply.body.duplicate).length, 1)
      const { observations } = (await nodes[1].api.get(`/api/payments/${body.paymentId}/timeline`))
        .body
      const seen = observations.filter(({ eventId }: { eventId: string }) => eventId)
      assert.equal(seen.length, 1)
    })

    test('nodes whose clocks differ by hours still give one session', async (t) => {
      const { sandbox, atOnce } = await start(t, 5 * 3600)
      const request = checkoutBody()

      const replies = await atOnce(10, ({ api }) => api.post('/api/checkout/sessions', request))

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
      assert.equal(idsOf(replies).size, 1)
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('events of one payment at once on two nodes are all joined', async (t) => {
      const { nodes, sandbox, atOnce } = await start(t)
      const { body } = await nodes[0].api.post('/api/checkout/sessions', checkoutBody())
      const { session } = await sandbox.pay(body.checkoutSessionId)
      for (const amount of [100, 200, 300])
        await sandbox.dashboardRefund(session.payment_intent, amount)
      const events = await sandbox.events()

      const replies = await atOnce(events.length, ({ deliver }, index) => deliver(events[index]))

      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
      const shown = (await nodes[0].api.get(`/api/payments/${body.paymentId}`)).body
      assert.equal(`${shown.status} ${shown.refundedAmount}`, 'PARTIALLY_REFUNDED 600')
    })
  })

// A held call must not time out, however busy the machine is.
const PATIENT = {
  providerRetries: 0,
  providerMilliseconds: 60_000,
}

type Answer = (reply: Reply) => void

const REFUSED: Reply = {
  status: 400,
  body: { error: { type: 'invalid_request_error', message: 'No.' } },
}

function answer(post: { value: unknown }, reply: Reply): void {
  const [resolve] = post.value as [Answer]
  resolve(reply)
}

/** Two nodes with a paid payment, and a provider whose refunds the test answers one by one. */
async function startApart(t: { after(work: () => void): void }, databaseUrl: string) {
  const asking = new EventEmitter()
  const posts = on(asking, 'refund')
  const provider = await startSmallProvider(t, {
    'POST /v1/checkout/sessions': { body: { id: 'cs_1', url: 'https://pay.example/cs_1' } },
    'POST /v1/refunds': () => new Promise<Reply>((resolve) => asking.emit('refund', resolve)),
    'GET /v1/refunds': { body: { object: 'list', data: [], has_more: false } },
    'GET /v1/refunds/re_1': { body: { id: 're_1', status: 'succeeded', amount: 400 } },
  })
  const env = { ...providerEnv(provider), PAYMENTS_LEASE_SECONDS: '600' }
  const options = { env, databaseUrl, overrides: PATIENT }
  const [one, two] = [await startPayments(t, options), await startPayments(t, options)]
  const { body } = await one.api.post('/api/checkout/sessions', checkoutBody())
  const object = { id: 'cs_1', payment_status: 'paid', payment_intent: 'pi_1' }
  await one.deliver({ id: 'evt_1', type: 'checkout.session.completed', data: { object } })
  return { provider, posts, one, two, paymentId: body.paymentId }
}
