import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { bothEngines } from '../../testing/databases/engines.ts'
import { Metrics } from '../metrics/metrics.ts'
import { currentTrace, inTrace } from '../tracing/trace-context.ts'
import { createTracer } from '../tracing/tracer.ts'
import { type Db, openDatabase } from './open.ts'
import { prepared } from './prepared.ts'
import { inTransaction } from './transaction.ts'

type Tables = { notes: { id: number; text: string } }

const NOTES = {
  name: 'test-0001-notes',
  up: async (db: Db<unknown>) => {
    await db.schema
      .createTable('notes')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('text', 'varchar(100)', (column) => column.notNull())
      .execute()
  },
}

const byId = prepared((db: Db<Tables>, { id }: { id: number }) =>
  db.selectFrom('notes').selectAll().where('id', '=', id),
)

const insert = (db: Db<Tables>, id: number, text: string) =>
  db.insertInto('notes').values({ id, text }).execute()

type Span = {
  name: string
  traceId: string
  attributes: { key: string; value: { stringValue?: string } }[]
}

/** A tracer, and a function that closes it and returns the spans it has sent. */
async function startTracer(t: TestContext) {
  const spans: Span[] = []
  const server = createServer(async (request, reply) => {
    const { resourceSpans } = (await json(request)) as {
      resourceSpans: { scopeSpans: { spans: Span[] }[] }[]
    }
    for (const { scopeSpans } of resourceSpans)
      spans.push(...scopeSpans.flatMap((scope) => scope.spans))
    reply.end('{}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
  const settings = { endpoint, headers: {}, timeoutMs: 10_000, serviceName: undefined }
  const tracer = createTracer(
    { ...settings, ratio: 1, followsParent: true, attributes: {} },
    'test',
    new Metrics(),
  )
  const sent = async () => {
    await tracer.close()
    return spans
  }
  return { tracer, sent }
}

for (const engine of bothEngines)
  describe(`statements in a trace on ${engine.name}`, engine.options, () => {
    test('become spans with the SQL text but without the values', async (t) => {
      const { db, close } = await openDatabase<Tables>(await engine.freshUrl(t), [NOTES])
      t.after(close)
      const { tracer, sent } = await startTracer(t)
      const { trace } = tracer.start('server', undefined)

      await insert(db, 1, 'outside of the trace')
      await inTrace(trace, async () => {
        await insert(db, 2, 'a secret')
        await byId(db, { id: 2 })
        await inTransaction(db, (transaction) =>
          transaction.updateTable('notes').set({ text: 'another secret' }).execute(),
        )
      })

      const spans = await sent()
      assert.deepEqual(
        spans.map(({ name }) => name),
        ['insert notes', 'select notes', 'update notes'],
      )
      const system = engine.name === 'postgres' ? 'postgresql' : 'sqlite'
      for (const { traceId, attributes } of spans) {
        assert.equal(traceId, trace.traceId)
        assert.equal(attributes[0]?.value.stringValue, system)
        assert.match(attributes[1]?.value.stringValue ?? '', /"notes"/)
      }
      assert.doesNotMatch(JSON.stringify(spans), /secret/)
    })

    test('belong to the trace of their own transaction, even when several are committed together', async (t) => {
      const { db, close } = await openDatabase<Tables>(await engine.freshUrl(t), [NOTES])
      t.after(close)
      const { tracer } = await startTracer(t)
      t.after(() => tracer.close())
      const traceOf = async (id: number) => {
        const { trace } = tracer.start('server', undefined)
        const seen = await inTrace(trace, () =>
          inTransaction(db, async (transaction) => {
            await insert(transaction, id, 'note')
            return currentTrace()?.traceId
          }),
        )
        return { expected: trace.traceId, seen }
      }

      const untraced = inTransaction(db, async () => currentTrace())
      const traced = await Promise.all([1, 2, 3].map(traceOf))

      assert.equal(await untraced, undefined)
      for (const { expected, seen } of traced) assert.equal(seen, expected)
    })
  })
