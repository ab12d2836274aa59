import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { inTransaction, kitMigrations, openDatabase } from '@plinth/kit/database'
import { anyone, type Guard, guarding } from '@plinth/kit/http'
import { accessTokenRejected } from '@plinth/kit/problems'
import { until } from '../../../../test/until.ts'
import { engines, startEvents, startReceiver } from '../../testing/index.ts'
import type { EventTables } from '../database/tables.ts'
import { newSecret, sealSecret } from '../endpoints/secrets.ts'
import { pruneEvents } from '../host.ts'
import { eventMigrations, insertEvent } from '../index.ts'

const DAY = 86_400
const AT = '2030-01-01T00:00:00.000Z'

type Listed = { id: string; type: string; data: { number: number } }

for (const engine of engines)
  describe(`the list of events on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext) => startEvents(t, { url: await engine.freshUrl(t) })
    const numbers = (items: Listed[]) => items.map(({ data }) => data.number)

    test('a reader who follows the cursor sees every event once, in order', async (t) => {
      const { api, publish, deliver } = await start(t)
      for (let number = 0; number < 25; number++) await publish(number)
      await deliver()

      const seen: number[] = []
      let after = ''
      for (let page = 0; page < 4; page++) {
        const { body } = await api.get(`/api/events?limit=10${after && `&after=${after}`}`)
        seen.push(...numbers(body.items))
        after = body.next
      }

      assert.deepEqual(
        seen,
        Array.from({ length: 25 }, (_, n) => n),
      )
    })

    test('an event can be read, used as a cursor and replayed as soon as it is committed', async (t) => {
      const { api, publish, detail } = await start(t)

      const first = await publish(1)
      const { event } = await detail(first)
      await publish(2)
      const { items } = (await api.get('/api/events')).body
      const third = await publish(3)
      const afterThird = await api.get(`/api/events?after=${third}`)
      const fourth = await publish(4)
      const replayed = await api.post(`/api/events/${fourth}/replay`)

      assert.equal(event.id, first)
      assert.deepEqual(numbers(items), [1, 2])
      assert.deepEqual([afterThird.status, afterThird.body], [200, { items: [], next: third }])
      assert.deepEqual([replayed.status, replayed.body.count], [202, 0])
    })

    test('events that an earlier version left without a place get one, and their deliveries', async (t) => {
      const url = await engine.freshUrl(t, [])
      const masterKey = Buffer.alloc(32, 7)
      const [wanting, all] = [await startReceiver(t), await startReceiver(t)]
      const earlier = [...kitMigrations, ...eventMigrations.slice(0, 4)]
      const { db, close } = await openDatabase<EventTables>(url, earlier)
      const endpoint = (id: string, receiver: { url: string }, types: string[]) => ({
        id,
        url: receiver.url,
        description: '',
        types: JSON.stringify(types),
        secret: sealSecret(masterKey, id, newSecret()),
        old_secrets: '[]',
        state: 'active' as const,
        state_reason: null,
        created_at: AT,
        created_by: 'admin',
        first_failure_at: null,
        last_success_at: null,
        warned: 0,
      })
      const event = (number: number, more: object = {}) => ({
        id: `evt_${number}`,
        type: 'thing.made',
        subject: 'one',
        sequence: number,
        body: JSON.stringify({
          ...{ id: `evt_${number}`, type: 'thing.made', timestamp: AT, source: 'things' },
          ...{ subject: 'one', sequence: number, apiVersion: '1', data: { number } },
        }),
        created_at: AT,
        position: null as never,
        endpoint_id: null,
        traceparent: null,
        ...more,
      })
      const endpoints = [endpoint('ep_1', wanting, ['thing.gone']), endpoint('ep_2', all, [])]
      await db.insertInto('event_endpoints').values(endpoints).execute()
      await db
        .insertInto('events')
        .values([
          event(1, { position: 5 }),
          event(2),
          event(3, { type: 'thing.gone' }),
          event(4, { type: 'ping', endpoint_id: 'ep_1' }),
        ])
        .execute()
      await close()

      const { api, deliver, publish, detail } = await startEvents(t, { url, masterKey })
      await deliver()
      const next = await publish(5, { subject: 'one' })

      const { items } = (await api.get('/api/events?after=evt_1')).body
      assert.deepEqual(numbers(items), [2, 3, 4, 5])
      assert.deepEqual(wanting.all.map(({ id }) => id).sort(), ['evt_3', 'evt_4'])
      assert.deepEqual(all.all.map(({ id }) => id).sort(), ['evt_2', 'evt_3'])
      assert.equal((await detail(next)).event.sequence, 5)
    })

    test('events that an earlier version left in the outbox keep their order and data', async (t) => {
      const url = await engine.freshUrl(t, [])
      const earlier = [...kitMigrations, ...eventMigrations.slice(0, 5)]
      const { db, close } = await openDatabase<EventTables>(url, earlier)
      const waiting = (number: number) => ({
        id: `evt_${number}`,
        type: 'thing.made',
        subject: 'one "thing"',
        created_at: AT,
        head: `{"id":"evt_${number}","source":"things"`,
        tail: `"apiVersion":"1","data":{"number":${number},"text":"é \\"{}"}}`,
      })
      await db
        .insertInto('event_outbox')
        .values([waiting(2), waiting(1)] as never)
        .execute()
      await close()

      const { api } = await startEvents(t, { url })

      const { items } = (await api.get('/api/events')).body
      const event = { type: 'thing.made', timestamp: AT, source: 'things', subject: 'one "thing"' }
      const data = (number: number) => ({ apiVersion: '1', data: { number, text: 'é "{}' } })
      assert.deepEqual(items, [
        { id: 'evt_2', ...event, sequence: 1, ...data(2) },
        { id: 'evt_1', ...event, sequence: 2, ...data(1) },
      ])
    })

    test('can be filtered by type, subject, time and state, and read newest first', async (t) => {
      const { api, publish, deliver, clock, endpoint } = await start(t)
      const receiver = await startReceiver(t)
      await endpoint(receiver)
      await deliver()
      await publish(1)
      clock.advance(60)
      const since = clock().toISOString()
      receiver.answerWith(() => ({ status: 410 }))
      await publish(2, { type: 'thing.gone' })
      await publish(3, { subject: 'special' })
      await deliver()
      const list = async (query: string) =>
        numbers((await api.get(`/api/events?${query}`)).body.items)

      assert.deepEqual(await list('types=thing.gone,nothing'), [2])
      assert.deepEqual(await list('subject=special'), [3])
      assert.deepEqual(await list(`since=${since}&types=thing.made,thing.gone`), [2, 3])
      assert.deepEqual(await list('types=thing.made&order=desc'), [3, 1])
      assert.ok((await list('state=failed')).includes(2))
      assert.equal((await api.get('/api/events?limit=0')).status, 400)
      const leapSecond = '2016-12-31T23:59:60Z'
      for (const time of ['yesterday', '2030-13-01T00:00:00Z', '2030-02-30T00:00:00Z', leapSecond])
        assert.equal((await api.get(`/api/events?since=${time}`)).status, 400, time)
    })

    test('an event id or filter that contains NUL is refused', async (t) => {
      const { api } = await start(t)

      for (const path of [
        '?after=%00',
        '?types=a,%00',
        '?subject=%00',
        '/stream?after=%00',
        '/%00',
      ])
        assert.equal((await api.get(`/api/events${path}`)).status, 400, path)
      assert.equal((await api.post('/api/events/%00/replay', {})).status, 400)
    })

    test('an event is deleted after 30 days, and its cursor is answered with 410', async (t) => {
      const { api, publish, deliver, clock, db, endpoint } = await start(t)
      const receiver = await startReceiver(t)
      await endpoint(receiver)
      const old = await publish(1)
      await deliver()
      clock.advance(30 * DAY + 1)
      const young = await publish(2)
      await deliver()

      await pruneEvents({ db, clock }, new AbortController().signal)

      const gone = await api.get(`/api/events?after=${old}`)
      assert.deepEqual([gone.status, gone.body.code], [410, 'CURSOR_GONE'])
      assert.equal((await api.get(`/api/events/${old}`)).status, 404)
      assert.equal((await api.get(`/api/events/${young}`)).status, 200)
      const left = await db.selectFrom('event_attempts').selectAll().execute()
      assert.equal(left.length, 1)
    })

    test('a reader of a rare type keeps its cursor while other events are deleted', async (t) => {
      const { api, publish, clock, db } = await start(t)
      await publish(1, { type: 'thing.gone' })
      const cursorAfter = async (after = '') => {
        const path = `/api/events?types=thing.gone&limit=2${after && `&after=${after}`}`
        const { status, body } = await api.get(path)
        assert.equal(status, 200)
        return body.next as string
      }
      let cursor = await cursorAfter()
      for (const number of [2, 3]) {
        clock.advance(20 * DAY)
        const last = await publish(number)
        await pruneEvents({ db, clock }, new AbortController().signal)
        cursor = await cursorAfter(cursor)
        assert.equal(cursor, last)
      }
      const rare = await publish(4, { type: 'thing.gone' })
      await publish(5)

      const { body } = await api.get(`/api/events?types=thing.gone&after=${cursor}`)

      assert.deepEqual(
        body.items.map((event: { id: string }) => event.id),
        [rare],
      )
    })

    test('the sequence of a deleted subject restarts once its events are pruned, others never do', async (t) => {
      const { publish, deliver, clock, db, api } = await start(t)
      const sequenceOf = async (id: string) => {
        await deliver()
        return (await api.get(`/api/events/${id}`)).body.event.sequence
      }
      const prune = () => pruneEvents({ db, clock }, new AbortController().signal)
      for (const type of ['thing.made', 'thing.moved']) await publish(1, { type, subject: 'one' })
      await publish(2, { subject: 'two' })
      await deliver()
      await prune()
      const gone = { type: 'thing.deleted', subject: 'one' }
      assert.equal(await sequenceOf(await publish(3, gone)), 3)

      clock.advance(30 * DAY + 1)
      assert.equal(await sequenceOf(await publish(4, { subject: 'two' })), 2)
      await prune()
      assert.equal(await sequenceOf(await publish(5, { subject: 'two' })), 3)
      assert.equal(await sequenceOf(await publish(6, { subject: 'one' })), 1)
      clock.advance(30 * DAY + 1)
      await publish(7, { subject: 'three' })
      await deliver()
      await prune()
      assert.equal(await sequenceOf(await publish(8, { subject: 'two' })), 4)
    })

    test('the sequence of a restored subject continues after its events are pruned', async (t) => {
      const { publish, deliver, clock, db, detail } = await start(t)
      for (const type of ['thing.made', 'thing.deleted', 'thing.restored'])
        await publish(1, { type, subject: 'one' })
      await deliver()
      clock.advance(30 * DAY + 1)
      await publish(2, { subject: 'two' })
      await deliver()
      await pruneEvents({ db, clock }, new AbortController().signal)

      const id = await publish(3, { type: 'thing.deleted', subject: 'one' })

      assert.equal((await detail(id)).event.sequence, 4)
    })

    test('concurrent events are numbered separately for each subject', async (t) => {
      const { publish, detail } = await start(t)
      await publish(0, { subject: 'two' })

      const subjects = ['one', 'two', 'three', 'two']
      const ids = await Promise.all(subjects.map((subject, n) => publish(n + 1, { subject })))

      const events = await Promise.all(ids.map(async (id) => (await detail(id)).event))
      assert.deepEqual(
        events.map(({ id, subject, sequence, data }) => [id, subject, sequence, data.number]),
        [
          [ids[0], 'one', 1, 1],
          [ids[1], 'two', 2, 2],
          [ids[2], 'three', 1, 3],
          [ids[3], 'two', 3, 4],
        ],
      )
    })

    test('the sequence continues after a move from another engine', async (t) => {
      const { publish, deliver, db, api } = await start(t)
      await publish(1, { subject: 'one' })
      await deliver()
      // The sequence comes from the events themselves; earlier versions kept it here on PostgreSQL.
      await db.deleteFrom('event_subjects').execute()

      for (const number of [2, 3]) await publish(number, { subject: 'one' })
      await deliver()

      const { items } = (await api.get('/api/events')).body
      assert.deepEqual(
        items.map((event: { sequence: number }) => event.sequence),
        [1, 2, 3],
      )
    })

    test('pruning keeps the newest event, so that no place is assigned twice', async (t) => {
      const { publish, deliver, clock, db, api } = await start(t)
      const last = await publish(1)
      await deliver()
      clock.advance(60 * DAY)
      await pruneEvents({ db, clock }, new AbortController().signal)

      const next = await publish(2)
      await deliver()

      assert.equal((await api.get(`/api/events?after=${last}`)).body.items[0].id, next)
    })

    test('an event can be replayed to one endpoint or to all', async (t) => {
      const { api, publish, deliver, endpoint, detail } = await start(t)
      const [one, other] = [await startReceiver(t), await startReceiver(t)]
      const { id: endpointId } = await endpoint(one)
      await endpoint(other)
      const id = await publish(1)
      await deliver()

      const toOne = await api.post(`/api/events/${id}/replay`, { endpointId })
      await deliver()
      const toAll = await api.post(`/api/events/${id}/replay`)
      await deliver()

      assert.deepEqual([toOne.status, toOne.body.count, toAll.body.count], [202, 1, 2])
      assert.deepEqual([one.delivered.length, other.delivered.length], [3, 2])
      assert.deepEqual([...new Set(one.delivered.map((sent) => sent.id))], [id])
      assert.equal(new Set(one.delivered.map((sent) => sent.body)).size, 1)
      const { deliveries } = await detail(id)
      const { attempts } = deliveries.find(
        (delivery: { endpointId: string }) => delivery.endpointId === endpointId,
      )
      assert.deepEqual(
        attempts.map(({ n, trigger }: { n: number; trigger: string }) => [n, trigger]),
        [
          [1, 'event'],
          [2, 'replay'],
          [3, 'replay'],
        ],
      )
      assert.equal((await api.post('/api/events/evt_1/replay')).status, 404)
      const unknown = await api.post(`/api/events/${id}/replay`, { endpointId: 'ep_1' })
      assert.equal(unknown.body.code, 'ENDPOINT_NOT_FOUND')
    })

    test('an event that is replayed while it is in flight is sent again', async (t) => {
      const { api, publish, deliver, endpoint, detail } = await start(t)
      const receiver = await startReceiver(t)
      await endpoint(receiver)
      await deliver()
      const counts: number[] = []
      const ids: string[] = []
      const replayOnce = (status: number) => {
        let isFirst = true
        receiver.answerWith(async ({ id }) => {
          if (!isFirst) return {}
          isFirst = false
          counts.push((await api.post(`/api/events/${id}/replay`)).body.count)
          return { status }
        })
      }

      for (const status of [200, 500]) {
        replayOnce(status)
        ids.push(await publish(status))
        await deliver()
      }

      assert.deepEqual(counts, [1, 1])
      assert.deepEqual(
        receiver.delivered.map(({ id }) => id),
        [ids[0], ids[0], ids[1], ids[1]],
      )
      for (const id of ids) {
        const [{ state, attempts }] = (await detail(id)).deliveries
        assert.equal(state, 'done')
        assert.deepEqual(
          attempts.map(({ trigger }: { trigger: string }) => trigger),
          ['event', 'replay'],
        )
      }
    })

    test('an endpoint recovers the failed events, or all events, of a time range', async (t) => {
      const { api, publish, deliver, endpoint, clock } = await start(t)
      const receiver = await startReceiver(t)
      await publish(0)
      await deliver()
      const { id } = await endpoint(receiver)
      await deliver()
      clock.advance(60)
      const since = clock().toISOString()
      const abort = { status: 400, headers: { 'webhook-delivery': 'abort-message' } }
      receiver.answerWith(({ body }) => (JSON.parse(body).data.number === 1 ? abort : {}))
      await publish(1)
      await publish(2)
      await deliver()
      receiver.answerWith(() => ({}))
      const recover = async (body: object) =>
        (await api.post(`/api/webhooks/endpoints/${id}/recover`, body)).body.count
      const received = () =>
        receiver.delivered.splice(0).map(({ body }) => JSON.parse(body).data.number)

      const failed = await recover({ since })
      await deliver()
      const all = await recover({ since: '2000-01-01T00:00:00Z', failedOnly: false })
      await deliver()

      assert.deepEqual([failed, all], [1, 4])
      assert.equal(received().filter((number) => number === 0).length, 1)
    })

    test('a time range that cannot be recovered is refused by the time that is wrong', async (t) => {
      const { api, endpoint } = await start(t)
      const { id } = await endpoint(await startReceiver(t))
      const errors = async (body: object) =>
        (await api.post(`/api/webhooks/endpoints/${id}/recover`, body)).body.errors
      const since = '2999-01-01T00:00:00Z'

      assert.deepEqual(await errors({ since, until: '2000-01-01T00:00:00Z' }), [
        'until: must not be before since',
      ])
      assert.deepEqual(await errors({ since }), ['since: must not be in the future'])
      assert.deepEqual(await errors({ since: '2016-12-31T23:59:60Z' }), [
        'since: must be a time such as 2030-01-01T12:00:00Z',
      ])
    })

    test('a reader reports its forwards, and the newest 20 are kept with the event', async (t) => {
      const { api, publish, deliver, detail, clock, db } = await start(t)
      const id = await publish(1)
      await deliver()
      const forward = {
        url: 'http://localhost:3000/hooks',
        durationMs: 7,
        status: 200,
        error: null,
      }
      const record = (body: object, event = id) => api.post(`/api/events/${event}/forwards`, body)

      const down = await record({ ...forward, status: null, error: 'ECONNREFUSED' })
      const first = (await detail(id)).forwards
      await Promise.all(Array.from({ length: 20 }, () => record(forward)))
      const { forwards } = await detail(id)
      const refused = await record({ ...forward, url: 'localhost' })
      const unknown = await record(forward, 'evt_1')
      await publish(2)
      await deliver()
      clock.advance(31 * DAY)
      await pruneEvents({ db, clock }, new AbortController().signal)

      assert.equal(down.status, 204)
      assert.deepEqual(
        [first[0].n, first[0].status, first[0].error, first[0].durationMs],
        [1, null, 'ECONNREFUSED', 7],
      )
      assert.deepEqual(
        forwards.map(({ n }: { n: number }) => n),
        Array.from({ length: 20 }, (_, index) => index + 2),
      )
      assert.deepEqual([refused.status, unknown.body.code], [400, 'EVENT_NOT_FOUND'])
      assert.deepEqual(await db.selectFrom('event_forwards').selectAll().execute(), [])
    })

    test('events keep their order when the last endpoint is removed between them', async (t) => {
      const { api, publish, deliver, db, endpoint } = await start(t)
      await endpoint(await startReceiver(t))
      await deliver()
      const before = (await api.get('/api/events')).body.next
      await publish(1)
      await db.deleteFrom('event_endpoints').execute()
      await publish(2)
      await deliver()

      const { body } = await api.get(`/api/events?after=${before}`)

      assert.deepEqual(numbers(body.items), [1, 2])
    })

    test('a reader does not miss the event of a transaction that commits late', async (t) => {
      const { api, publish, deliver, db, clock } = await start(t)
      const begun = Promise.withResolvers<void>()
      const go = Promise.withResolvers<void>()
      const event = { source: 'things', type: 'thing.made', subject: 'late', at: clock() }
      const late = inTransaction(db, async (transaction) => {
        await insertEvent(transaction, { ...event, data: { number: 1 } })
        begun.resolve()
        if (engine.name === 'postgres') await go.promise
      })
      await begun.promise
      await publish(2)
      await deliver()
      const first = (await api.get('/api/events')).body

      go.resolve()
      await late
      await deliver()
      const second = (await api.get(`/api/events?after=${first.next}`)).body

      assert.deepEqual(numbers([...first.items, ...second.items]).sort(), [1, 2])
    })
  })

type Reading = { headers?: Record<string, string>; onOpen?: () => void }

describe('the stream of events', () => {
  /** Reads a stream until it has sent the given number of messages. */
  async function read(url: string, messages: number, options: Reading = {}) {
    const { headers, onOpen } = options
    const ended = new AbortController()
    const response = await fetch(url, { headers, signal: ended.signal })
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      onOpen?.()
      if (text.split('\n\n').length > messages) break
    }
    ended.abort()
    return text
      .split('\n\n')
      .filter(Boolean)
      .map((message) => Object.fromEntries(message.split('\n').map(field)))
  }

  function field(line: string): [string, string] {
    const at = line.indexOf(': ')
    return [line.slice(0, at), line.slice(at + 2)]
  }

  test('sends new events, and those the reader missed since Last-Event-ID', async (t) => {
    const { baseUrl, publish, deliver } = await startEvents(t)
    const first = await publish(1)
    const second = await publish(2)
    await deliver()

    const url = `${baseUrl}/api/events/stream`
    const missed = await read(url, 2, { headers: { 'last-event-id': first } })
    const { promise: open, resolve: onOpen } = Promise.withResolvers<void>()
    const coming = read(`${url}?types=thing.gone`, 2, { onOpen })
    await open
    const third = await publish(3, { type: 'thing.gone' })
    await deliver()

    assert.deepEqual([missed[1]?.id, missed[1]?.event], [second, 'thing.made'])
    assert.equal(JSON.parse(missed[1]?.data ?? '').data.number, 2)
    const received = await coming
    assert.deepEqual([received[1]?.id, received.length], [third, 2])
  })

  test('starts with the id to resume from, even for a reader without a matching event', async (t) => {
    const { baseUrl, publish, deliver } = await startEvents(t)
    const last = await publish(1)
    await deliver()

    const [first] = await read(`${baseUrl}/api/events/stream?types=thing.gone`, 1)

    assert.equal(first?.id, last)
  })

  test('sends the id to resume from with each comment, even if no event matches', async (t) => {
    const { baseUrl, publish, clock } = await startEvents(t)
    const response = await fetch(`${baseUrl}/api/events/stream?types=thing.gone`)
    const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const next = async () => (await chunks?.read())?.value
    assert.equal(await next(), ': events follow\n\n')

    const last = await publish(1)
    clock.advance(15)

    assert.equal(await next(), `: still here\nid: ${last}\n\n`)
    await chunks?.cancel()
  })

  test('sends a comment every 15 seconds, and ends when the reader loses access', async (t) => {
    let refusal: Error | undefined
    const read = guarding({ schemes: {}, problems: [accessTokenRejected] }, async (request) => {
      if (refusal) throw refusal
      await anyone(request)
    })
    const { baseUrl, clock } = await startEvents(t, { guards: { read } })
    const response = await fetch(`${baseUrl}/api/events/stream`)
    const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const next = async () => (await chunks?.read())?.value

    assert.equal(await next(), ': events follow\n\n')
    refusal = new Error('the database is down')
    clock.advance(15)
    assert.equal(await next(), ': still here\n\n')
    refusal = accessTokenRejected()
    clock.advance(15)
    assert.equal(await next(), undefined)
  })

  test('answers 503 beyond 100 readers, until one leaves', async (t) => {
    const { baseUrl, server } = await startEvents(t)
    const url = `${baseUrl}/api/events/stream`
    const leaving = new AbortController()
    const first = await fetch(url, { signal: leaving.signal })
    const others = await Promise.all(Array.from({ length: 99 }, () => fetch(url)))

    const refused = await fetch(url)
    leaving.abort()
    const later = await until(
      () => fetch(url),
      ({ status }) => status === 200,
    )

    assert.deepEqual([refused.status, later.status], [503, 200])
    await server.close()
    // Keeps references until here: a reply that is garbage collected is closed.
    assert.ok([first, ...others].every(({ status }) => status === 200))
  })

  test('sends a gap when events that the reader has not seen were deleted', async (t) => {
    const { baseUrl, publish, deliver } = await startEvents(t)
    const only = await publish(1)
    await deliver()

    const messages = await read(`${baseUrl}/api/events/stream?after=evt_long_gone`, 3)

    assert.deepEqual([messages[1]?.event, messages[2]?.id], ['gap', only])
  })

  test('is open to others while one caller takes every stream there is', async (t) => {
    const read: Guard = async (request) => {
      const userId = String(request.headers['x-caller'])
      request.caller = { userId, username: userId, roles: [], sessionId: '' }
    }
    const { baseUrl } = await startEvents(t, { guards: { read } })
    const end = new AbortController()
    t.after(() => end.abort())
    const open = (caller: string) =>
      fetch(`${baseUrl}/api/events/stream`, {
        headers: { 'x-caller': caller },
        signal: end.signal,
      })
    const greedy = await Promise.all(Array.from({ length: 100 }, () => open('greedy')))
    let ended = 0
    const countEnd = () => {
      ended += 1
    }
    for (const response of greedy) void response.text().then(countEnd, countEnd)
    const more = await open('greedy')

    const others = [await open('ada'), await open('bob'), await open('ada')]
    const again = await open('greedy')

    assert.ok(greedy.every(({ status }) => status === 200))
    assert.equal(more.status, 503)
    assert.match(await more.text(), /TOO_MANY_STREAMS/)
    assert.deepEqual(
      others.map(({ status }) => status),
      [200, 200, 200],
    )
    assert.equal(again.status, 503)
    await until(
      () => ended,
      (count) => count === 3,
    )
  })

  test('ends when the service stops', async (t) => {
    const { baseUrl, server } = await startEvents(t)
    const response = await fetch(`${baseUrl}/api/events/stream`)
    const reading = response.text()

    await server.close()

    assert.match(await reading, /^: events follow/)
  })
})
