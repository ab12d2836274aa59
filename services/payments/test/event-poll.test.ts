import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

type Scope = { after(work: () => void): void }
type Listed = { id?: unknown; type?: unknown; created?: number; data?: unknown }

const SECOND = Date.parse('2029-12-31T23:30:00.000Z') / 1000

const hint = (id: unknown): Listed => ({
  id,
  type: 'payment_intent.processing',
  created: SECOND,
  data: { object: { id: `pi_${id}` } },
})

const many = (count: number) => Array.from({ length: count }, (_, index) => hint(`evt_${index}`))

for (const engine of engines)
  describe(`the list of events on ${engine.name}`, engine.options, () => {
    /** A provider whose list of events, newest first, is `events`, in pages like the real one's. */
    const start = async (t: Scope, events: Listed[]) => {
      const pages: URLSearchParams[] = []
      const list = (query: URLSearchParams) => {
        pages.push(query)
        const after = query.get('starting_after')
        const begin = after === null ? 0 : events.findIndex(({ id }) => id === after) + 1
        if (after !== null && begin === 0) return { status: 400, body: NO_SUCH_EVENT }
        const end = begin + Number(query.get('limit'))
        const body = { data: events.slice(begin, end), has_more: end < events.length }
        return { body }
      }
      const provider = await startSmallProvider(t, { 'GET /v1/events': list })
      const env = providerEnv(provider)
      const databaseUrl = await engine.freshUrl(t)
      const overrides = { providerRetries: 0 }
      const started = await startPayments(t, { env, databaseUrl, overrides })
      const inbox = async (query = '') =>
        (await started.api.get(`/api/webhook-events?size=2000${query}`)).body
      const poll = () => started.jobs.poll.runNow()
      return { ...started, provider, pages, list, inbox, poll }
    }

    test('is read past unreadable events, which are stored as DEAD for an operator', async (t) => {
      const unreadable = [
        { type: 'refund.created', created: SECOND },
        { ...hint('evt_no_data'), data: null },
        { ...hint('evt_no_session'), type: 'checkout.session.completed', data: { object: {} } },
        { ...hint('evt_\u0000'), type: 7 },
        null as unknown as Listed,
      ]
      const { api, inbox, poll, pages } = await start(t, [hint('a'), ...unreadable, hint('b')])

      await poll()
      await poll()

      const { content } = await inbox()
      const statusOf = Object.fromEntries(
        content.map((event: { id: string; status: string }) => [event.id, event.status]),
      )
      assert.deepEqual([statusOf.a, statusOf.b], ['PROCESSED', 'PROCESSED'])
      const dead = (await inbox('&status=DEAD')).content
      assert.equal(dead.length, unreadable.length)
      for (const event of dead) {
        assert.equal(event.error, 'The event cannot be read.')
        assert.equal(event.source, 'poll')
        assert.equal((await api.post(`/api/webhook-events/${event.id}/retry`)).status, 400)
      }
      assert.equal(pages.length, 2)
    })

    test('is read to its end when more than a thousand events have the same second', async (t) => {
      const { inbox, poll, pages, clock } = await start(t, many(1010))

      await poll()
      clock.advance(3600)
      await poll()

      assert.equal((await inbox()).totalElements, 1010)
      const begins = pages.map((query) => Number(query.get('created[gte]')))
      assert.equal(pages.length, 22)
      assert.equal((begins[11] ?? 0) - (begins[0] ?? 0), 3600)
    })

    test('is read past ids that cannot be stored', async (t) => {
      const events = [
        ...many(98),
        hint('e'.repeat(256)),
        hint('evt_\u0000'),
        ...many(150).slice(98),
      ]
      const { inbox, poll, pages } = await start(t, events)

      await poll()

      assert.equal((await inbox('&status=PROCESSED')).totalElements, 150)
      assert.equal((await inbox('&status=DEAD')).totalElements, 2)
      assert.deepEqual(
        pages.map((query) => query.get('starting_after')),
        [null, 'evt_97'],
      )
    })

    test('ends at a page without an id to continue from, and the next window starts after it', async (t) => {
      const tooLong = Array.from({ length: 101 }, (_, index) => hint(`${index}`.padStart(256, 'e')))
      const { inbox, poll, pages, clock } = await start(t, tooLong)

      await poll()
      clock.advance(3600)
      await poll()

      assert.equal((await inbox('&status=DEAD')).totalElements, 100)
      const begins = pages.map((query) => Number(query.get('created[gte]')))
      assert.equal((begins[1] ?? 0) - (begins[0] ?? 0), 3600)
      assert.equal(pages.length, 2)
    })

    test('is continued at the page where it was interrupted', async (t) => {
      const { inbox, poll, pages, provider, list, clock } = await start(t, many(250))
      const broken = (query: URLSearchParams) =>
        query.get('starting_after') === 'evt_199' ? { status: 500, body: {} } : list(query)

      provider.replies['GET /v1/events'] = broken
      await assert.rejects(poll())
      const between = (await inbox()).totalElements
      provider.replies['GET /v1/events'] = list
      clock.advance(60)
      await poll()

      assert.equal(between, 200)
      assert.equal((await inbox()).totalElements, 250)
      assert.deepEqual(
        pages.map((query) => query.get('starting_after')),
        [null, 'evt_99', 'evt_199'],
      )
      assert.equal(new Set(pages.map((query) => query.get('created[lte]'))).size, 1)
    })

    test('is read again from the same place when an event could not be stored', async (t) => {
      const events = [hint('a')]
      const { inbox, poll, pages, clock, payments } = await start(t, events)
      await poll()
      events.unshift(hint('b'))
      const { schema } = payments.db
      // While this index exists, no second polled event can be stored.
      await schema.createIndex('fault').on('webhook_events').column('source').unique().execute()

      await assert.rejects(poll())
      const between = (await inbox()).totalElements
      await schema.dropIndex('fault').execute()
      clock.advance(3600)
      await poll()

      assert.equal(between, 1)
      assert.equal((await inbox('&status=PROCESSED')).totalElements, 2)
      const begins = pages.map((query) => query.get('created[gte]'))
      assert.equal(begins[1], begins[2])
    })

    test('is read past an inconsistent event whose currency cannot be stored', async (t) => {
      const events: Listed[] = []
      const { api, inbox, poll, provider } = await start(t, events)
      provider.replies['POST /v1/checkout/sessions'] = { body: { id: 'cs_1', url: 'https://p' } }
      await api.post('/api/checkout/sessions', checkoutBody())
      const object = { id: 'cs_1', currency: 'e\u0000r', payment_status: 'paid' }
      events.push({ ...hint('odd'), type: 'checkout.session.completed', data: { object } })
      events.push(hint('next'))

      await poll()

      assert.equal((await inbox('&status=FAILED')).content[0].id, 'odd')
      assert.equal((await inbox('&status=PROCESSED')).content[0].id, 'next')
    })

    test('is started over when the provider has forgotten the event it stopped at', async (t) => {
      const events = many(150)
      const { inbox, poll, provider, list } = await start(t, events)
      provider.replies['GET /v1/events'] = (query: URLSearchParams) =>
        query.has('starting_after') ? { status: 500, body: {} } : list(query)
      await assert.rejects(poll())
      provider.replies['GET /v1/events'] = list
      events.splice(0, 100)

      await assert.rejects(poll())
      await poll()

      assert.equal((await inbox()).totalElements, 150)
    })
  })

const NO_SUCH_EVENT = {
  error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such event' },
}
