import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLogger, readableLine } from './logging.ts'
import { inTrace } from './tracing/trace-context.ts'

describe('the log', () => {
  test('redacts secrets, at the top level and nested', () => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })

    log.info({ password: 'hunter2', body: { refreshToken: 'hunter2' } }, 'login')
    log.info({ request: { headers: { authorization: 'hunter2', 'x-api-key': 'hunter2' } } }, 'in')
    log.info({ users: [{ name: 'ada', accounts: [{ secret: 'hunter2' }] }] }, 'list')

    assert.equal(lines.length, 3)
    assert.doesNotMatch(lines.join(''), /hunter2/)
    assert.match(lines.join(''), /\[redacted\]/)
  })

  test('shows other values unchanged, and cuts off a circular reference', () => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const at = new Date(0)
    const endless: Record<string, unknown> = { name: 'ada' }
    endless.self = endless

    log.info({ at, list: [1, null, { deep: { deeper: true } }], none: undefined }, 'values')
    log.info({ endless }, 'endless')

    const [values, loop] = lines.map((line) => JSON.parse(line))
    assert.deepEqual(
      [values.at, values.list, 'none' in values],
      [at.toISOString(), [1, null, { deep: { deeper: true } }], false],
    )
    assert.equal(loop.endless.self.self.name, 'ada')
  })

  test('is readable on a terminal: a line for each request, and the stack of an error', () => {
    const lines: string[] = []
    const log = createLogger('identity', 'info', {
      write: (line: string) => lines.push(readableLine(line)),
    })

    const request = { method: 'GET', route: '/users/{id}', status: 200, milliseconds: 3.1 }
    log.info({ requestId: 'r-1', ...request, callerId: '7' }, 'request')
    const cause = new Error('the disk is full')
    log.error({ err: cause }, 'job failed')
    log.error({ err: new AggregateError([cause], 'two', { cause }) }, 'both failed')

    const [asked = '', failed = '', both = ''] = lines
    assert.match(
      asked,
      /^\d\d:\d\d:\d\d identity {5}GET \/users\/\{id\} 200 3\.1 ms requestId=r-1 callerId=7\n$/,
    )
    assert.match(failed, /ERROR job failed\nError: the disk is full\n {4}at /)
    assert.equal(both.match(/^Caused by: Error: the disk is full\n {4}at /gm)?.length, 2)
  })

  test('describes an error and its cause, but shows no values of the row concerned', () => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const refused = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (email)=(ada@localhost) already exists.',
    })

    log.error({ err: new Error('it failed', { cause: refused }) }, 'job failed')

    const { err } = JSON.parse(lines[0] ?? '')
    assert.deepEqual(
      [err.message, err.cause.message, err.cause.code],
      ['it failed', 'duplicate key', '23505'],
    )
    assert.doesNotMatch(lines.join(''), /ada@/)
  })

  test('describes the errors that one error combines, at most ten of them', () => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const errors = Array.from({ length: 12 }, (_, index) => new Error(`reason ${index}`))

    log.error({ err: new AggregateError(errors, 'some failed') }, 'job failed')

    const { err } = JSON.parse(lines[0] ?? '')
    const messages = err.errors.map(({ message }: Error) => message)
    assert.deepEqual(
      messages,
      errors.slice(0, 10).map(({ message }) => message),
    )
  })

  test('shows the id of the trace that a line belongs to', () => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: false }

    inTrace(trace, () => log.info('inside'))
    log.info('outside')

    const [inside, outside] = lines.map((line) => JSON.parse(line).traceId)
    assert.deepEqual([inside, outside], [trace.traceId, undefined])
  })

  test('shows only the prefix of a service key, wherever it occurs', () => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
    const key = `plk_live_${'a1'.repeat(24)}Z`

    log.warn({ url: `/x?key=${key}`, err: new Error(`refused ${key}`) }, `sent ${key}`)

    assert.equal(lines.length, 1)
    assert.doesNotMatch(lines.join(''), /a1a1/)
    assert.match(lines.join(''), /"sent plk_live_\[redacted\]"/)
  })
})
