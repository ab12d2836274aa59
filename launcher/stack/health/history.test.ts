import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { createLogger } from '@plinth/kit/logging'
import { type Family, labelled, merged } from '@plinth/kit/metrics'
import { keepHistory } from './history.ts'

type Requests = Extract<Family, { type: 'histogram' }>

/** A history over fabricated requests, with a clock that the test advances. */
function historyOf(t: TestContext) {
  const requests: Requests['samples'] = []
  let queue = 0
  const gauge = (name: string, value: number, labels = {}): Family => ({
    name,
    help: '',
    type: 'gauge',
    samples: [{ labels, value }],
  })
  const families = (): Family[] => [
    {
      name: 'http_server_request_duration_seconds',
      help: '',
      type: 'histogram',
      bounds: [0.1, 1],
      samples: structuredClone(requests),
    },
    gauge('plinth_password_queue_length', queue),
    gauge('plinth_mail_backlog', 2, { state: 'queued' }),
    gauge('plinth_mail_backlog', 7, { state: 'failed' }),
    gauge('plinth_event_backlog', 40, { worker: '1' }),
    gauge('plinth_event_backlog', 41, { worker: '2' }),
    gauge('http_server_active_requests', 2, { worker: '1' }),
    gauge('http_server_active_requests', 3, { worker: '2' }),
    gauge('plinth_disk_free_bytes', 25, { role: 'data' }),
    gauge('plinth_disk_size_bytes', 100, { role: 'data' }),
  ]
  let now = 0
  const history = keepHistory(
    async () => merged(labelled(families(), { service: 'identity' })),
    () => new Date(now),
    createLogger('test', 'silent'),
  )
  t.after(history.stop)
  return {
    history,
    request: (seconds: number, { status = '200', route = '/api/users/me' } = {}) => {
      const labels = { http_route: route, http_response_status_code: status }
      const counts = [seconds <= 0.1, seconds > 0.1 && seconds <= 1, seconds > 1].map(Number)
      const known = requests.find((each) => isDeepStrictEqual(each.labels, labels))
      if (known) known.counts = known.counts.map((count, at) => count + (counts[at] ?? 0))
      else requests.push({ labels, counts, sum: seconds })
    },
    pass: (seconds: number) => {
      now += seconds * 1000
    },
    setQueue: (length: number) => {
      queue = length
    },
  }
}

describe('the metrics history', () => {
  test('computes rates, failures and percentiles for each point separately', async (t) => {
    const { history, request, pass } = historyOf(t)
    for (let index = 0; index < 90; index++) request(0.05)
    for (let index = 0; index < 10; index++) request(0.5, { status: '500' })
    pass(10)
    await history.record()
    for (let index = 0; index < 20; index++) request(0.05)
    pass(10)
    await history.record()

    const [first, second] = (await history.points()).map(({ services }) => services.identity)
    assert.equal(first?.rate, 10)
    assert.equal(first?.failures, 1)
    assert.equal(first?.p50?.toFixed(4), '0.0556')
    assert.equal(first?.p99?.toFixed(2), '0.91')
    assert.deepEqual([second?.rate, second?.failures], [2, 0])
    assert.equal(second?.p99?.toFixed(3), '0.099')
  })

  test('includes a point for the current interval from the first second on', async (t) => {
    const { history, request, pass } = historyOf(t)
    request(0.05)
    pass(1)
    assert.equal((await history.points())[0]?.services.identity?.rate, 1)

    await history.record()
    pass(4)
    assert.equal((await history.points()).length, 1)
    pass(1)
    assert.equal((await history.points()).length, 2)
  })

  test('reports queues and disks as of the end of each point', async (t) => {
    const { history, setQueue } = historyOf(t)
    setQueue(3)
    await history.record()
    setQueue(5)
    await history.record()

    const points = await history.points()
    assert.deepEqual(
      points.map(({ queues }) => queues['Password hashes waiting']),
      [3, 5],
    )
    assert.equal(points[0]?.queues['Mails to send'], 2)
    assert.deepEqual(points[0]?.disks, { 'identity: data': { freeBytes: 25, sizeBytes: 100 } })
  })

  test('adds up the queues of the workers, but not those they share in the database', async (t) => {
    const { history } = historyOf(t)
    await history.record()

    const [point] = await history.points()
    assert.equal(point?.queues['Requests being served'], 5)
    assert.equal(point?.queues['Events to deliver'], 41)
  })

  test('leaves out probes and streams, and has null percentiles without requests', async (t) => {
    const { history, request, pass } = historyOf(t)
    request(0.05)
    pass(10)
    await history.record()
    request(0.5, { route: '/actuator/health' })
    request(90, { route: '/api/events/stream' })
    pass(10)
    await history.record()

    const { services } = (await history.points())[1] ?? {}
    assert.deepEqual(services?.identity, { rate: 0, failures: 0, p50: null, p99: null })
  })

  test('keeps one hour and no more', async (t) => {
    const { history, pass } = historyOf(t)
    for (let index = 0; index < 400; index++) {
      pass(10)
      await history.record()
    }

    const points = await history.points()
    assert.equal(points.length, 360)
    assert.equal(points.at(-1)?.at, 4_000_000)
    assert.equal(points[0]?.at, 410_000)
  })
})
