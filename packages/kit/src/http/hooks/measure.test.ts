import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { until } from '../../../../../test/until.ts'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { exposition } from '../../metrics/exposition.ts'
import { defineProblem } from '../../problems.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createServer } from '../server.ts'
import { countReplies } from './measure.ts'

const tooMany = defineProblem('TOO_MANY', 429, 'Slow down.')
const soldOut = defineProblem('SOLD_OUT', 409, 'Nothing is left.')

async function startServer(t: TestContext) {
  const server = createServer({ log: createLogger('test', 'silent'), clock: systemClock })
  countReplies(
    server,
    { name: 'orders_total', help: 'Orders.', resultsByCode: { SOLD_OUT: 'sold_out' } },
    { 'POST /orders': { kind: 'new' }, 'POST /never': { kind: 'never' } },
  )
  server.get('/users/:id', () => 'somebody')
  server.get('/hang', () => new Promise(() => {}))
  server.post('/orders', ({ headers }) => {
    if (headers.from === 'greedy@localhost') throw tooMany()
    if (headers.from === 'late@localhost') throw soldOut()
    return headers.from === 'hasty@localhost' ? new Promise(() => {}) : 'ordered'
  })
  const { api, baseUrl } = await listenForTest(t, server)
  const text = async () => exposition(await server.metrics.read())
  return { api, baseUrl, text }
}

const seriesOf = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))

/** Sends requests with random paths and methods that Node knows, one after another on one connection. */
async function askMany(port: number, count: number): Promise<void> {
  const methods = ['GET', 'POST', 'PROPFIND', 'SEARCH', 'DELETE']
  const lines = Array.from({ length: count }, (_, index) => {
    const path = Math.random().toString(36).slice(2)
    return `${methods[index % methods.length]} /${path}/${index} HTTP/1.1\r\nhost: localhost\r\n\r\n`
  })
  const socket = connect(port, 'localhost')
  socket.end(lines.join(''))
  const replies = await textOf(socket)
  assert.equal(replies.match(/HTTP\/1\.1 404 /g)?.length, count)
}

describe('the measured server', () => {
  test('times requests by method, route template and status', async (t) => {
    const { api, text } = await startServer(t)

    await api.get('/users/1')
    await api.get('/users/2')

    await until(text, (found) => found.includes('_count{http_request_method="GET"'))
    assert.deepEqual(seriesOf(await text(), 'http_server_request_duration_seconds_count'), [
      'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/users/{id}",http_response_status_code="200"} 2',
    ])
  })

  test('adds no series for 10,000 random paths and methods after the first few', async (t) => {
    const { baseUrl, text } = await startServer(t)
    const methods = ['GET', 'POST', 'PROPFIND', 'BREW', 'SEARCH', 'DELETE']
    const ask = (index: number) =>
      fetch(`${baseUrl}/${Math.random().toString(36).slice(2)}/${index}`, {
        method: methods[index % methods.length] as string,
      }).then((reply) => reply.arrayBuffer())
    const seriesCount = async () => (await text()).split('\n').length
    for (let index = 0; index < 60; index++) await ask(index)
    const before = await seriesCount()

    await askMany(Number(new URL(baseUrl).port), 10_000)

    assert.equal(await seriesCount(), before)
  })

  test('counts a request as active while it is served, and no longer when the client disconnects', async (t) => {
    const { baseUrl, text } = await startServer(t)
    const active = async () => seriesOf(await text(), 'http_server_active_requests')[0]
    const socket = connect(Number(new URL(baseUrl).port), 'localhost')
    t.after(() => socket.destroy())
    socket.write('GET /hang HTTP/1.1\r\nhost: localhost\r\n\r\n')

    await until(active, (found) => found === 'http_server_active_requests 1')
    socket.destroy()
    await until(active, (found) => found === 'http_server_active_requests 0')
  })

  test('counts the replies of a route by result, and rate-limited requests by rule', async (t) => {
    const { api, text } = await startServer(t)

    await api.post('/orders')
    for (const from of ['greedy@localhost', 'late@localhost'])
      await api.post('/orders', undefined, { headers: { from } })
    const leaving = new AbortController()
    const hasty = { headers: { from: 'hasty@localhost' }, signal: leaving.signal }
    const left = api.post('/orders', undefined, hasty).catch(() => 'left')
    await until(text, (found) => found.includes('http_server_active_requests 1'))
    leaving.abort()
    await left

    await until(text, (found) => found.includes('result="refused"} 1'))
    assert.deepEqual(seriesOf(await text(), 'orders_total'), [
      'orders_total{kind="new",result="accepted"} 1',
      'orders_total{kind="new",result="refused"} 1',
      'orders_total{kind="new",result="limited"} 1',
      'orders_total{kind="new",result="failed"} 0',
      'orders_total{kind="new",result="sold_out"} 1',
    ])
    assert.match(await text(), /http_route="\/orders",http_response_status_code="499"\} 1$/m)
    assert.match(await text(), /^plinth_rate_limited_total\{rule="TOO_MANY"\} 1$/m)
  })

  test('a metric that cannot be read is logged once, unless the service is stopping', async (t) => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const server = createServer({ log, clock: systemClock })
    t.after(() => server.close())
    server.metrics.gauge({ name: 'queue_length', help: 'Q.' }, () =>
      Promise.reject(new Error('no such column')),
    )

    server.draining = true
    await server.metrics.read()
    assert.equal(lines.length, 0)
    server.draining = false
    let now = performance.now()
    t.mock.method(performance, 'now', () => now)
    for (let scrape = 0; scrape < 2; scrape += 1) {
      await server.metrics.read()
      now += 60_000
      log.outages.review()
    }

    const logged = lines.map((line) => JSON.parse(line))
    assert.deepEqual(
      logged.map(({ msg, metric, err }) => [msg, metric, err.message]),
      [
        ['a metric could not be read', 'queue_length', 'no such column'],
        ['a metric could not be read', undefined, 'no such column'],
      ],
    )
  })
})
