import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { propertyRuns, type TestEngine, testClock } from '@plinth/kit/testing'
import { inTrace } from '@plinth/kit/tracing'
import { Webhook } from 'standardwebhooks'
import { until } from '../../../../test/until.ts'
import { bothEngines, type StartedEvents, startEvents, startReceiver } from '../../testing/index.ts'

const HOUR = 3600
const DAY = 24 * HOUR

async function start(t: TestContext, engine: TestEngine, settings: object = {}) {
  // The library that verifies the signatures always uses the system clock.
  const clock = testClock(new Date().toISOString())
  const events = await startEvents(t, { url: await engine.freshUrl(t), clock, settings })
  const receiver = await startReceiver(t)
  return { ...events, receiver }
}

/** Advances the clock to the next attempt and makes it; returns the seconds in between. */
async function nextAttempt({ clock, deliver, detail }: StartedEvents, id: string) {
  const { deliveries } = await detail(id)
  const at = new Date(deliveries[0].nextAttemptAt)
  const seconds = (at.getTime() - clock().getTime()) / 1000
  clock.set(at)
  await deliver()
  return seconds
}

for (const engine of bothEngines)
  describe(`deliveries on ${engine.name}`, engine.options, () => {
    test('an independent library verifies the Standard Webhooks signature of an event', async (t) => {
      const { receiver, endpoint, publish, deliver } = await start(t, engine)
      const { secret } = await endpoint(receiver)

      const id = await publish(7)
      await deliver()

      const [sent] = receiver.delivered
      assert.ok(sent)
      const { headers, body } = sent
      const verified = new Webhook(secret).verify(body, headers) as Record<string, unknown>
      assert.equal(headers['webhook-id'], id)
      assert.equal(headers['content-type'], 'application/json')
      assert.deepEqual(
        { ...verified, timestamp: 0 },
        {
          id,
          type: 'thing.made',
          timestamp: 0,
          source: 'things',
          subject: 'thing-7',
          sequence: 1,
          apiVersion: '1',
          data: { number: 7 },
        },
      )
      assert.throws(() => new Webhook(secret).verify(`${body} `, headers))
    })

    test('a delivery continues the trace of the change that published the event', async (t) => {
      const { receiver, endpoint, publish, deliver } = await start(t, engine)
      await endpoint(receiver)
      const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }

      await inTrace({ ...trace, sampled: false }, () => publish(1))
      await publish(2)
      await deliver()

      assert.deepEqual(
        receiver.delivered.map(({ headers }) => headers.traceparent),
        [`00-${trace.traceId}-${trace.spanId}-00`, undefined],
      )
    })

    test('a new endpoint gets a ping and no earlier events', async (t) => {
      const { receiver, endpoint, publish, deliver } = await start(t, engine)
      await publish(1)
      await deliver()
      await publish(2)

      await endpoint(receiver)
      await deliver()

      assert.deepEqual(
        receiver.all.map(({ type }) => type),
        ['ping'],
      )
    })

    test('the sequence of a subject increases by one with each of its events', async (t) => {
      const { receiver, endpoint, publish, deliver } = await start(t, engine)
      await endpoint(receiver)

      await Promise.all(Array.from({ length: 20 }, (_, n) => publish(n, { subject: 'same' })))
      await deliver()

      const sequences = receiver.delivered.map(({ body }) => JSON.parse(body).sequence)
      assert.deepEqual(
        sequences.toSorted((one, other) => one - other),
        Array.from({ length: 20 }, (_, n) => n + 1),
      )
      for (const { body } of receiver.delivered)
        assert.equal(
          body,
          JSON.stringify(JSON.parse(body)),
          'the body is exactly what JSON.stringify writes',
        )
    })

    test('an endpoint gets only the types it asks for', async (t) => {
      const { receiver, endpoint, publish, deliver } = await start(t, engine)
      await endpoint(receiver, { types: ['thing.gone'] })

      await publish(1)
      await publish(2, { type: 'thing.gone' })
      await deliver()

      assert.deepEqual(
        receiver.delivered.map(({ type }) => type),
        ['thing.gone'],
      )
    })

    test('a change that is rolled back publishes no event', async (t) => {
      const { receiver, endpoint, deliver, db, clock } = await start(t, engine)
      await endpoint(receiver)
      const { inTransaction } = await import('@plinth/kit/database')
      const { insertEvent } = await import('../index.ts')

      const at = clock()
      const event = { source: 'things', type: 'thing.made', subject: 'x', data: {}, at }
      const change = inTransaction(db, async (transaction) => {
        await insertEvent(transaction, event)
        throw new Error('no')
      })
      await assert.rejects(change)
      await deliver()

      assert.deepEqual(receiver.delivered, [])
    })

    test('ten attempts over 75 hours 35 minutes with 20 % jitter share one id and body', async (t) => {
      const world = await start(t, engine)
      const { receiver, endpoint, publish, deliver, detail, clock, api } = world
      receiver.answerWith(() => ({ status: 500, body: 'out of order' }))
      const { id: endpointId } = await endpoint(receiver, { types: ['thing.made'] })
      const id = await publish(1)

      await deliver()
      const pauses = []
      while ((await detail(id)).deliveries[0].nextAttemptAt)
        pauses.push(await nextAttempt(world, id))

      const nominal = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY]
      assert.equal(pauses.length, nominal.length)
      pauses.forEach((pause, index) => {
        const wanted = nominal[index] ?? 0
        assert.ok(
          pause >= wanted * 0.8 - 0.001 && pause <= wanted * 1.2 + 0.001,
          `${index}: ${pause}`,
        )
      })
      const sent = receiver.delivered
      assert.equal(sent.length, 10)
      assert.equal(new Set(sent.map(({ body }) => body)).size, 1)
      assert.deepEqual([...new Set(sent.map((one) => one.id))], [id])
      assert.equal(new Set(sent.map(({ headers }) => headers['webhook-timestamp'])).size, 10)
      const [delivery] = (await detail(id)).deliveries
      assert.equal(delivery.state, 'failed')
      assert.equal(delivery.attempts.length, 10)
      assert.deepEqual(
        [delivery.attempts[9].status, delivery.attempts[9].reply],
        [500, 'out of order'],
      )
      clock.advance(DAY)
      await deliver()
      assert.equal(receiver.delivered.length, 10)
      assert.equal((await api.get(`/api/webhooks/endpoints/${endpointId}`)).body.state, 'active')
    })

    test('a redirect counts as a failure and is not followed', async (t) => {
      const { receiver, endpoint, publish, deliver, detail } = await start(t, engine)
      const headers = { location: new URL('/elsewhere', receiver.url).href }
      receiver.answerWith(() => ({ status: 302, headers }))
      await endpoint(receiver)

      const id = await publish(1)
      await deliver()

      assert.ok(receiver.all.every(({ path }) => path === '/hook'))
      const [delivery] = (await detail(id)).deliveries
      assert.deepEqual([delivery.state, delivery.attempts[0].status], ['pending', 302])
    })

    for (const [what, answer] of [
      ['410', { status: 410 }],
      ['webhook-delivery: disable', { status: 400, headers: { 'webhook-delivery': 'disable' } }],
    ] as const)
      test(`${what} disables an endpoint and notifies the others`, async (t) => {
        const { receiver, endpoint, publish, deliver, detail, api, audit } = await start(t, engine)
        const other = await startReceiver(t)
        await endpoint(other)
        const { id: endpointId } = await endpoint(receiver)
        await deliver()
        receiver.answerWith(() => answer)

        const id = await publish(1)
        await deliver()
        await publish(2)
        await deliver()

        const { body } = await api.get(`/api/webhooks/endpoints/${endpointId}`)
        assert.equal(body.state, 'disabled')
        assert.equal(receiver.delivered.length, 1)
        const delivery = (await detail(id)).deliveries.find(
          (one: { endpointId: string }) => one.endpointId === endpointId,
        )
        assert.equal(delivery.state, 'failed')
        const notice = other.delivered.find(({ type }) => type === 'endpoint.disabled')
        assert.equal(JSON.parse(notice?.body ?? '{}').data.endpointId, endpointId)
        assert.ok(audit.some(({ event }) => event === 'WEBHOOK_ENDPOINT_DISABLED'))
      })

    test('webhook-delivery: abort-message stops the attempts of that event only', async (t) => {
      const { receiver, endpoint, publish, deliver, detail } = await start(t, engine)
      await endpoint(receiver)
      await deliver()
      const headers = { 'webhook-delivery': 'abort-message' }
      receiver.answerWith(() => ({ status: 400, headers }))
      const first = await publish(1)
      await deliver()
      receiver.answerWith(() => ({}))
      const second = await publish(2)
      await deliver()

      assert.equal((await detail(first)).deliveries[0].state, 'failed')
      assert.equal((await detail(second)).deliveries[0].state, 'done')
    })

    test('Retry-After is honoured on 429, 502, 503 and 504, up to a day', async (t) => {
      const world = await start(t, engine)
      const { receiver, endpoint, publish, deliver, detail, clock } = world
      await endpoint(receiver)
      await deliver()
      const wait = async (status: number, retryAfter: string) => {
        receiver.answerWith(() => ({ status, headers: { 'retry-after': retryAfter } }))
        const id = await publish(1)
        await deliver()
        const at = (await detail(id)).deliveries[0].nextAttemptAt
        return (new Date(at).getTime() - clock().getTime()) / 1000
      }

      assert.equal(await wait(429, '3600'), 3600)
      assert.equal(await wait(503, '9999999'), DAY)
      for (const status of [502, 504]) assert.equal(await wait(status, '7200'), 7200)
      assert.ok((await wait(500, '3600')) <= 6)
      assert.ok((await wait(429, 'soon')) <= 6)
      const inAnHour = new Date(clock().getTime() + HOUR * 1000).toUTCString()
      assert.ok(Math.abs((await wait(429, inAnHour)) - HOUR) < 2)
    })

    test('endpoints that hang or trickle their reply time out and do not delay the others', async (t) => {
      const world = await start(t, engine, { timeoutMs: 2_000 })
      const { receiver, endpoint, publish, deliver, detail } = world
      const dripping = await startReceiver(t)
      const quick = await startReceiver(t)
      for (const one of [receiver, dripping, quick]) await endpoint(one)
      await deliver()
      receiver.answerWith(() => ({ hang: true }))
      dripping.answerWith(() => ({ drip: true }))

      const id = await publish(1)
      await deliver()

      const { deliveries } = await detail(id)
      const at = ({ url }: { url: string }) =>
        deliveries.find((delivery: { url: string }) => delivery.url === url)
      assert.equal(at(quick).state, 'done')
      for (const late of [receiver, dripping]) {
        assert.match(at(late).attempts[0].error, /no complete reply within 2 seconds/)
        assert.equal(at(late).attempts[0].status, null)
      }
    })

    test('at most four deliveries to an endpoint are in flight', async (t) => {
      const { receiver, endpoint, publish, deliver } = await start(t, engine)
      await endpoint(receiver)
      const { promise: four, resolve } = Promise.withResolvers<void>()
      receiver.answerWith(async () => {
        if (receiver.most >= 4) resolve()
        await four
        return {}
      })

      for (let number = 0; number < 30; number++) await publish(number)
      await deliver()

      assert.equal(receiver.delivered.length, 30)
      assert.equal(receiver.most, 4)
    })

    test('a paused endpoint gets its pending events when it is active again', async (t) => {
      const { receiver, endpoint, publish, deliver, detail, api } = await start(t, engine)
      const { id: endpointId } = await endpoint(receiver)
      await deliver()
      const path = `/api/webhooks/endpoints/${endpointId}`
      await api.patch(path, { state: 'paused' })

      const id = await publish(1)
      await deliver()
      const waiting = (await detail(id)).deliveries[0].state
      await api.patch(path, { state: 'active' })
      await deliver()

      assert.equal(waiting, 'paused')
      assert.deepEqual(
        receiver.delivered.map((one) => one.id),
        [id],
      )
    })

    test('five days of failures pause an endpoint; one success restarts the count', async (t) => {
      const { receiver, endpoint, publish, deliver, api, clock, audit } = await start(t, engine)
      const { id } = await endpoint(receiver)
      await deliver()
      const state = async () => (await api.get(`/api/webhooks/endpoints/${id}`)).body.state
      const failAfter = async (seconds: number) => {
        clock.advance(seconds)
        receiver.answerWith(() => ({ status: 500 }))
        await publish(1)
        await deliver()
      }

      await failAfter(0)
      await failAfter(4 * DAY)
      receiver.answerWith(() => ({}))
      await publish(2)
      await deliver()
      await failAfter(2 * DAY)
      const afterSuccess = await state()
      await failAfter(3 * DAY)
      await failAfter(2 * DAY)

      assert.equal(afterSuccess, 'active')
      assert.equal(await state(), 'paused')
      const warnings = audit.filter(({ event }) => event === 'WEBHOOK_ENDPOINT_FAILING')
      assert.equal(warnings.length, 2, 'one warning halfway through each series of failures')
    })

    test('a failed delivery does not pause an endpoint that another delivery has just reached', async (t) => {
      const { receiver, endpoint, publish, deliver, api, clock, db } = await start(t, engine)
      const { id } = await endpoint(receiver)
      receiver.answerWith(() => ({ status: 500 }))
      await deliver()
      clock.advance(5 * DAY)
      const read = () => db.selectFrom('event_endpoints').selectAll().executeTakeFirstOrThrow()
      receiver.answerWith(async ({ body }) => {
        if (JSON.parse(body).data.number !== 2) return {}
        await until(read, ({ last_success_at }) => last_success_at !== null)
        return { status: 500 }
      })

      await publish(1)
      await publish(2)
      await deliver()

      assert.equal((await api.get(`/api/webhooks/endpoints/${id}`)).body.state, 'active')
    })

    test('410 from an address that was replaced during the attempt disables nothing', async (t) => {
      const { receiver, endpoint, publish, deliver, api } = await start(t, engine)
      const other = await startReceiver(t)
      const { id } = await endpoint(receiver)
      await deliver()
      const path = `/api/webhooks/endpoints/${id}`
      receiver.answerWith(async () => {
        await api.patch(path, { url: other.url })
        return { status: 410 }
      })

      await publish(1)
      await deliver()

      assert.equal((await api.get(path)).body.state, 'active')
    })

    test('deleting an endpoint during an attempt leaves no rows behind', async (t) => {
      const { receiver, endpoint, publish, deliver, api, db } = await start(t, engine)
      const { id } = await endpoint(receiver)
      await deliver()
      receiver.answerWith(async () => {
        await api.delete(`/api/webhooks/endpoints/${id}`)
        return {}
      })

      await publish(1)
      await deliver()

      assert.deepEqual(await db.selectFrom('event_attempts').selectAll().execute(), [])
      assert.deepEqual(await db.selectFrom('event_deliveries').selectAll().execute(), [])
    })

    test('after a rotation both secrets sign for a day', async (t) => {
      const { receiver, endpoint, publish, deliver, api, clock } = await start(t, engine)
      const { id, secret: old } = await endpoint(receiver)
      const { body } = await api.post(`/api/webhooks/endpoints/${id}/rotate-secret`)
      const secret: string = body.secret

      await publish(1)
      await deliver()
      clock.advance(DAY + 1)
      await publish(2)
      await deliver()

      const [first, second] = receiver.delivered
      assert.ok(first && second)
      new Webhook(secret).verify(first.body, first.headers)
      new Webhook(old).verify(first.body, first.headers)
      assert.equal(second.headers['webhook-signature']?.split(' ').length, 1)
    })

    test('a delivery whose node was killed is attempted again when its lease expires', async (t) => {
      const { receiver, endpoint, publish, deliver, db, clock, dispatcher } = await start(t, engine)
      await endpoint(receiver)
      await deliver()
      const id = await publish(1)
      await dispatcher.round()
      await deliver()
      // The state left by a process that was killed after it sent the event.
      await db
        .updateTable('event_deliveries')
        .set({
          state: 'pending',
          next_attempt_at: clock().toISOString(),
          lease_owner: 'the dead',
          lease_until: new Date(clock().getTime() + 60_000).toISOString(),
        })
        .execute()

      await deliver()
      const before = receiver.delivered.length
      clock.advance(60)
      await deliver()

      assert.equal(before, 1)
      assert.deepEqual(
        receiver.delivered.map((one) => one.id),
        [id, id],
      )
    })

    test('a delivery queued by a clock that was ahead is sent once the clock is right', async (t) => {
      const { receiver, endpoint, publish, deliver, clock, api } = await start(t, engine)
      const { id: endpointId } = await endpoint(receiver)
      const change = (state: string) =>
        api.patch(`/api/webhooks/endpoints/${endpointId}`, { state })
      const right = clock()
      clock.advance(2 * HOUR)
      // Its events are queued, but not sent.
      await change('paused')
      const id = await publish(1)
      await deliver()

      clock.set(right)
      await change('active')
      await deliver()

      assert.deepEqual(
        receiver.delivered.map((one) => one.id),
        [id],
      )
    })

    test('an attempt planned by a clock that was ahead is made once the clock is right', async (t) => {
      const { receiver, endpoint, publish, deliver, clock } = await start(t, engine)
      receiver.answerWith(() => ({ status: 500 }))
      await endpoint(receiver)
      const right = clock()
      clock.advance(2 * HOUR)
      await publish(1)
      await deliver()
      assert.equal(receiver.delivered.length, 1)

      clock.set(right)
      await deliver()

      assert.equal(receiver.delivered.length, 2)
    })

    test('a clock that is set back a little makes no planned attempt early', async (t) => {
      const { receiver, endpoint, publish, deliver, clock } = await start(t, engine)
      receiver.answerWith(() => ({ status: 500 }))
      await endpoint(receiver)
      await publish(1)
      await deliver()

      clock.advance(-2)
      await deliver()

      assert.equal(receiver.delivered.length, 1)
    })

    test('a delivery leased before the clock was set back by a day is still attempted', async (t) => {
      const { receiver, endpoint, publish, deliver, db, clock } = await start(t, engine)
      await endpoint(receiver)
      await deliver()
      await publish(1)
      const until = new Date(clock().getTime() + DAY * 1000 + 60_000).toISOString()
      receiver.answerWith(() => ({ status: 500 }))
      await deliver()
      await db
        .updateTable('event_deliveries')
        .set({ next_attempt_at: clock().toISOString(), lease_owner: 'x', lease_until: until })
        .where('state', '=', 'pending')
        .execute()
      receiver.answerWith(() => ({}))

      await deliver()

      assert.equal(receiver.delivered.length, 2)
    })
  })

const [postgres] = bothEngines.filter(({ name }) => name === 'postgres')
const COUNT = propertyRuns(10_000)

describe('two nodes', { skip: postgres?.skip }, () => {
  test(`deliver each of ${COUNT} events exactly once`, { tags: ['property'] }, async (t) => {
    if (!postgres) return
    const { url, masterKey, clock, receiver, endpoint, publish, deliver } = await start(t, postgres)
    const other = await startEvents(t, { url, clock, masterKey })
    await endpoint(receiver)

    for (let batch = 0; batch < COUNT / 100; batch++)
      await Promise.all(Array.from({ length: 100 }, (_, n) => publish(batch * 100 + n)))
    let before = -1
    while (receiver.delivered.length > before) {
      before = receiver.delivered.length
      await Promise.all([deliver(), other.deliver()])
    }

    assert.equal(receiver.delivered.length, COUNT)
    assert.equal(new Set(receiver.delivered.map(({ id }) => id)).size, COUNT)
    assert.ok(receiver.most <= 4, `${receiver.most} requests at once`)
  })
})
