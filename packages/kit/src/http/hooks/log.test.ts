import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { until } from '../../../../../test/until.ts'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { systemClock } from '../../runtime/clock.ts'
import { callerGuard } from '../guards.ts'
import { actuatorRoutes } from '../routes/standard.routes.ts'
import { createServer } from '../server.ts'

const guard = callerGuard(async () => ({
  userId: '7',
  username: 'ada@localhost',
  roles: [],
  sessionId: 's',
}))

describe('the request log', () => {
  test('has one line per request with id, route, status, duration and caller, but never a query or a token', async (t) => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const server = createServer({ log, clock: systemClock })
    actuatorRoutes(server, { name: 'test', version: '1', healthy: async () => true })
    server.get('/users/:id', { onRequest: guard.caller, handler: () => 'somebody' })
    const { api } = await listenForTest(t, server)
    lines.length = 0

    await api.get('/actuator/health')
    await api.get('/users/12345?token=hunter2', {
      token: 'hunter2',
      headers: { 'x-request-id': 'abc-1' },
    })

    await until(
      () => lines.length,
      (count) => count > 0,
    )
    assert.equal(lines.length, 1)
    const { time, pid, hostname, level, milliseconds, ...line } = JSON.parse(lines[0] ?? '')
    assert.deepEqual(line, {
      name: 'test',
      requestId: 'abc-1',
      method: 'GET',
      route: '/users/{id}',
      status: 200,
      callerId: '7',
      msg: 'request',
    })
    assert.equal(typeof milliseconds, 'number')
    assert.doesNotMatch(lines.join(''), /hunter2|12345|ada@/)
  })

  test('has a line for a client that disconnected, with its trace id, and logs probes at debug', async (t) => {
    const lines: string[] = []
    const log = createLogger('test', 'debug', { write: (line: string) => lines.push(line) })
    const server = createServer({ log, clock: systemClock })
    actuatorRoutes(server, { name: 'test', version: '1', healthy: async () => true })
    const begun = Promise.withResolvers<void>()
    server.get('/hang', () => {
      begun.resolve()
      return new Promise(() => {})
    })
    const { api } = await listenForTest(t, server)
    const lineOf = (route: string) =>
      until(
        () => lines.map((line) => JSON.parse(line)).find((line) => line.route === route),
        (found) => found !== undefined,
      )

    await api.get('/actuator/health')
    const leaving = new AbortController()
    const traceId = 'a'.repeat(32)
    const headers = { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` }
    const left = api.get('/hang', { signal: leaving.signal, headers }).catch(() => 'left')
    await begun.promise
    leaving.abort()
    await left

    const { status, aborted, ...line } = await lineOf('/hang')
    assert.deepEqual([status, aborted, line.traceId], [499, true, traceId])
    assert.equal((await lineOf('/actuator/health')).level, 20)
  })

  test('has no error for a client that disconnected before a download began', async (t) => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const server = createServer({ log, clock: systemClock })
    const begun = Promise.withResolvers<void>()
    const file = new Readable({ read: () => begun.resolve() })
    server.get('/download', (_request, reply) => reply.send(file))
    server.get('/', () => 'still here')
    const { api } = await listenForTest(t, server)
    lines.length = 0

    const leaving = new AbortController()
    const closed = once(file, 'close')
    const left = api.get('/download', { signal: leaving.signal }).catch(() => 'left')
    await begun.promise
    leaving.abort()
    await Promise.all([left, closed])
    await api.get('/')

    await until(
      () => lines.length,
      (count) => count >= 2,
    )
    const seen = lines.map((line) => JSON.parse(line))
    assert.deepEqual(
      seen.map(({ level, route, status }) => [level, route, status]),
      [
        [30, '/download', 499],
        [30, '/', 200],
      ],
    )
  })
})
