import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction, openDatabase } from '@plinth/kit/database'
import { until } from '../../../test/until.ts'
import { migrations } from '../src/payment/database/migrations/index.ts'
import { findPaymentForUpdate } from '../src/payment/database/payments.repository.ts'
import { insertRestore } from '../src/payment/database/restores.repository.ts'
import type { PaymentTables } from '../src/payment/database/tables.ts'
import { upsertEventPoll } from '../src/webhooks/poll.repository.ts'
import { type Reply, startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

const PATH = '/v1/checkout/sessions'
const NEVER = new Promise<Reply>(() => {})

for (const engine of engines)
  describe(`the reconciliation of payments on ${engine.name}`, engine.options, () => {
    /** `count` payments whose sessions are due to be looked up; the test answers the look-ups. */
    const start = async (t: TestScope, count: number, callMilliseconds: number) => {
      const provider = await startSmallProvider(t, {})
      const databaseUrl = await engine.freshUrl(t)
      const started = await startPayments(t, {
        env: providerEnv(provider),
        databaseUrl,
        overrides: { providerRetries: 0, providerMilliseconds: callMilliseconds },
      })
      // The round that runs at the start is over once another one has run.
      await until(() => started.jobs.reconcile.runNow(), Boolean)
      const ids: string[] = []
      for (let index = 0; index < count; index++) {
        const url = `https://pay.example/${index}`
        provider.replies[`POST ${PATH}`] = { body: { id: `cs_${index}`, url } }
        const { body } = await started.api.post('/api/checkout/sessions', checkoutBody())
        ids.push(body.paymentId)
      }
      started.clock.advance(61)
      const answerLookUps = (answer: (id: string) => Promise<Reply>) => {
        for (let index = 0; index < count; index++)
          provider.replies[`GET ${PATH}/cs_${index}`] = () => answer(`cs_${index}`)
      }
      const lookedUp = () => provider.asked.filter((path) => path.startsWith(`GET ${PATH}/`))
      const statuses = async () => {
        const { body } = await started.api.get('/api/payments')
        return body.content.map(({ status }: { status: string }) => status)
      }
      const timeline = async () => (await started.api.get(`/api/payments/${ids[0]}/timeline`)).body
      /** A node without a credential receives events, but cannot ask the provider. */
      const deliverElsewhere = async (event: object) => {
        const { deliver } = await startPayments(t, { databaseUrl, clock: started.clock })
        assert.equal((await deliver(event)).status, 200)
      }
      return {
        ...started,
        provider,
        databaseUrl,
        ids,
        answerLookUps,
        lookedUp,
        statuses,
        timeline,
        deliverElsewhere,
      }
    }
    const HINT = { id: 'evt_1', type: 'payment_intent.succeeded', data: { object: { id: 'pi_0' } } }
    const PAID = { id: 'cs_0', payment_status: 'paid', payment_intent: 'pi_0' }
    const paid = async (id: string) => ({ body: { id, payment_status: 'paid' } })

    test('ends its round when the provider is unavailable, and continues when it is back', async (t) => {
      const { jobs, answerLookUps, lookedUp, statuses } = await start(t, 12, 1_500)
      answerLookUps(() => NEVER)
      await jobs.reconcile.runNow()
      const inOutage = lookedUp().length

      answerLookUps(paid)
      await jobs.reconcile.runNow()

      assert.ok(inOutage <= 4, `${inOutage} look-ups in an outage`)
      const healed = (await statuses()).filter((status: string) => status === 'PAID')
      assert.equal(healed.length, 12 - inOutage)
    })

    test('asks immediately on an operator’s request, and reports a failure', async (t) => {
      const { api, ids, answerLookUps, statuses } = await start(t, 1, 300)
      const check = async (id: string) => (await api.post(`/api/payments/${id}/check`)).status
      answerLookUps(() => NEVER)
      assert.equal(await check(ids[0] ?? ''), 503)
      assert.deepEqual(await statuses(), ['PENDING'])

      answerLookUps(paid)
      assert.equal(await check(ids[0] ?? ''), 204)

      assert.deepEqual(await statuses(), ['PAID'])
      assert.equal(await check('5b4f5a0e-6a53-4f62-93f6-0a1f6e0b7a11'), 404)
      assert.equal(await check('x'), 400)
    })

    test('asks about several payments at a time', async (t) => {
      const { jobs, answerLookUps, statuses } = await start(t, 2, 10_000)
      const both = Promise.withResolvers<void>()
      let arrived = 0
      answerLookUps(async (id) => {
        arrived += 1
        if (arrived === 2) both.resolve()
        await both.promise
        return paid(id)
      })

      await jobs.reconcile.runNow()

      assert.deepEqual(await statuses(), ['PAID', 'PAID'])
    })

    test('is due immediately after a hint, and its intervals then start over', async (t) => {
      const started = await start(t, 1, 10_000)
      const { api, clock, deliver, ids, jobs, answerLookUps, lookedUp, databaseUrl } = started
      const [id] = ids
      const open = async (sessionId: string) => ({
        body: { id: sessionId, payment_intent: 'pi_0' },
      })
      answerLookUps(open)
      const nextCheckAt = async () => {
        const { body } = await api.get(`/api/payments/${id}/timeline`)
        return body.nextCheckAt
      }
      const after = (seconds: number) => new Date(clock().getTime() + seconds * 1000).toISOString()
      for (const seconds of [300, 900, 3600]) {
        await jobs.reconcile.runNow()
        assert.equal(await nextCheckAt(), after(seconds))
        clock.advance(seconds)
      }
      await jobs.reconcile.runNow()
      clock.advance(60)
      // A node without a credential receives events, but cannot ask the provider.
      const other = await startPayments(t, { databaseUrl, clock })
      const object = { id: 'pi_0' }
      const hint = { id: 'evt_1', type: 'payment_intent.succeeded', data: { object } }

      const reply = await other.deliver(hint)
      const hinted = await nextCheckAt()
      const before = lookedUp().length
      await jobs.reconcile.runNow()

      assert.equal(reply.body.status, 'PROCESSED')
      assert.equal(hinted, clock().toISOString())
      assert.equal(lookedUp().length, before + 1)
      assert.equal(await nextCheckAt(), after(300))
      assert.equal((await deliver(hint)).body.duplicate, true)
    })

    test('runs immediately on the node that receives the hint', async (t) => {
      const { deliver, ids, answerLookUps, lookedUp } = await start(t, 1, 10_000)
      answerLookUps(paid)
      const object = { id: 'pi_0', metadata: { paymentId: ids[0] } }

      await deliver({ ...HINT, data: { object } })

      await until(lookedUp, ({ length }) => length === 1)
    })

    test('is due again after a hint that arrived while the provider was asked', async (t) => {
      const started = await start(t, 1, 10_000)
      const { clock, ids, jobs, answerLookUps, timeline, deliverElsewhere } = started
      const object = { id: 'pi_0', metadata: { paymentId: ids[0] } }
      answerLookUps(async (id) => {
        clock.advance(1)
        await deliverElsewhere({ ...HINT, data: { object } })
        return { body: { id } }
      })

      await jobs.reconcile.runNow()

      assert.equal((await timeline()).nextCheckAt, clock().toISOString())
    })

    test('requested by a hint is not postponed by another event of a paid payment', async (t) => {
      const started = await start(t, 1, 10_000)
      const { clock, jobs, answerLookUps, timeline, deliverElsewhere } = started
      answerLookUps(async () => ({ body: PAID }))
      await jobs.reconcile.runNow()
      assert.equal((await timeline()).nextCheckAt, null)
      const hintedAt = clock().toISOString()

      await deliverElsewhere(HINT)
      clock.advance(1)
      const type = 'checkout.session.completed'
      await deliverElsewhere({ id: 'evt_2', type, data: { object: PAID } })

      assert.equal((await timeline()).nextCheckAt, hintedAt)
    })

    test('makes a refund whose first call failed', async (t) => {
      const { api, clock, ids, jobs, provider, answerLookUps, statuses } = await start(t, 1, 10_000)
      answerLookUps(async () => ({ body: PAID }))
      await jobs.reconcile.runNow()
      provider.replies['POST /v1/refunds'] = { status: 500, body: {} }
      const lost = await api.post(`/api/payments/${ids[0]}/refund`, { reference: 'r' })
      provider.replies['POST /v1/refunds'] = { body: { id: 're_1', status: 'succeeded' } }
      provider.replies['GET /v1/refunds'] = { body: { data: [] } }

      clock.advance(61)
      await jobs.reconcile.runNow()

      assert.equal(lost.status, 502)
      assert.deepEqual(await statuses(), ['REFUNDED'])
    })

    test('runs before anything is served from a restored database', async (t) => {
      const { databaseUrl, provider, answerLookUps, clock } = await start(t, 1, 10_000)
      const { db, close } = await openDatabase<PaymentTables>(databaseUrl, migrations)
      await insertRestore(db, clock())
      await close()
      answerLookUps(async () => ({ body: PAID }))
      const asked = Promise.withResolvers<Reply>()
      provider.replies['GET /v1/events'] = () => asked.promise
      const { api } = await startPayments(t, { env: providerEnv(provider), databaseUrl, clock })

      const early = await api.get('/api/payments')
      const [live, ready] = [
        await api.get('/actuator/health/liveness'),
        await api.get('/actuator/health/readiness'),
      ]
      asked.resolve({ body: { data: [], has_more: false } })
      const late = await until(
        () => api.get('/api/payments'),
        ({ status }) => status === 200,
      )

      assert.equal(early.status, 503)
      assert.match(early.body.detail, /^The data was restored/)
      assert.deepEqual([live.status, ready.status], [200, 503])
      assert.equal(late.body.content[0].status, 'PAID')
    })

    test('after a restore reads all events since the backup, even behind an unfinished window', async (t) => {
      const { databaseUrl, provider, answerLookUps, clock } = await start(t, 1, 10_000)
      const { db, close } = await openDatabase<PaymentTables>(databaseUrl, migrations)
      const at = (seconds: number) => new Date(clock().getTime() + seconds * 1000)
      await upsertEventPoll(db, {
        polledUntil: at(-90_000),
        window: { to: at(-86_400), after: null },
      })
      await insertRestore(db, clock())
      await close()
      answerLookUps(async () => ({ body: PAID }))
      const windows: number[] = []
      provider.replies['GET /v1/events'] = async (query) => {
        windows.push(Number(query.get('created[lte]')))
        return { body: { data: [], has_more: false } }
      }
      const { api } = await startPayments(t, { env: providerEnv(provider), databaseUrl, clock })

      await until(
        () => api.get('/api/payments'),
        ({ status }) => status === 200,
      )

      const seconds = (time: Date) => Math.floor(time.getTime() / 1000)
      assert.deepEqual([...new Set(windows)], [seconds(at(-86_400)), seconds(clock())])
    })

    // SQLite has one writer at a time: there a lock would also block the leases.
    if (engine.name === 'sqlite') return
    test('asks the provider while another transaction holds the payment', async (t) => {
      const started = await start(t, 1, 10_000)
      const { jobs, databaseUrl, ids, answerLookUps, lookedUp, statuses } = started
      const [id = ''] = ids
      answerLookUps(paid)
      const other = await openDatabase<PaymentTables>(databaseUrl, migrations)
      t.after(other.close)

      const round = await inTransaction(other.db, async (db) => {
        await findPaymentForUpdate(db, id)
        const running = jobs.reconcile.runNow()
        await until(lookedUp, (asked) => asked.length === 1)
        return { running }
      })
      await round.running

      assert.deepEqual(await statuses(), ['PAID'])
    })
  })
