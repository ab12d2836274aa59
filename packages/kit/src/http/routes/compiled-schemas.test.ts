import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { listenForTest } from '../../../testing/listen.ts'
import { createLogger } from '../../logging.ts'
import { systemClock } from '../../runtime/clock.ts'
import { requiredText, Type } from '../schema.ts'
import { createServer } from '../server.ts'

async function startServer(t: TestContext) {
  const server = createServer({ log: createLogger('test', 'silent'), clock: systemClock })
  const Person = Type.Object({ name: requiredText({ maxLength: 5 }) })
  const response = { 200: Type.Object({ name: Type.String() }, { additionalProperties: false }) }
  server.post('/people', {
    schema: { body: Person, response },
    handler: ({ body }) => ({ ...body, secret: 'kept' }),
  })
  const { api } = await listenForTest(t, server)
  return async (name: string) => {
    const { status, body } = await api.post('/people', { name })
    return [status, body.errors ?? body]
  }
}

test('servers that share a compiled schema validate and filter independently', async (t) => {
  const [one, other] = [await startServer(t), await startServer(t)]

  const replies = await Promise.all([one('Ada'), other('Augusta'), one(' '), other('Grace')])

  assert.deepEqual(replies, [
    [200, { name: 'Ada' }],
    [400, ['name: must have at most 5 characters']],
    [400, ['name: must not be blank']],
    [200, { name: 'Grace' }],
  ])
})
