import { type Server, Type } from '@plinth/kit'
import { countSessions, readBooks } from '../money/books.ts'
import { REFUND_WAYS, SIGNING_WAYS } from '../state/switches.ts'
import { advanceClock, readClock, resetClock } from './clock-controls.ts'
import type { Controls } from './controls.ts'
import {
  forgetIdempotencyKeys,
  listRecent,
  listRecentRequests,
  readAllSwitches,
  resetSwitches,
  turnSwitches,
} from './state-controls.ts'

const AdvanceBody = Type.Object({ seconds: Type.Integer({ minimum: 0, maximum: 10 ** 9 }) })
const CountQuery = Type.Object({ by: Type.String() })
const SwitchesBody = Type.Object(
  {
    paused: Type.Optional(Type.Boolean()),
    drop: Type.Optional(Type.Array(Type.String())),
    delaySeconds: Type.Optional(Type.Integer({ minimum: 0 })),
    duplicates: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    reorder: Type.Optional(Type.Integer({ minimum: 0 })),
    eventSecond: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
    signWith: Type.Optional(Type.Union(SIGNING_WAYS.map((way) => Type.Literal(way)))),
    apiVersion: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    refunds: Type.Optional(Type.Union(REFUND_WAYS.map((way) => Type.Literal(way)))),
    amountLimits: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

/** The clock, the switches, and what there is to see. */
export function stateRoutes(server: Server, controls: Controls): void {
  const { sandbox } = controls
  server.get('/sandbox/api/clock', () => readClock(controls))
  server.post('/sandbox/api/clock/advance', {
    schema: { body: AdvanceBody },
    handler: ({ body }) => advanceClock(controls, body.seconds),
  })
  server.delete('/sandbox/api/clock', () => resetClock(controls))

  server.get('/sandbox/api/switches', () => readAllSwitches(sandbox))
  server.patch('/sandbox/api/switches', {
    schema: { body: SwitchesBody },
    handler: ({ body }) => turnSwitches(sandbox, body),
  })
  server.delete('/sandbox/api/switches', () => resetSwitches(sandbox))

  server.get('/sandbox/api/sessions', () => listRecent(sandbox, 'checkout.session'))
  server.get('/sandbox/api/refunds', () => listRecent(sandbox, 'refund'))
  server.get('/sandbox/api/requests', () => listRecentRequests(sandbox))
  server.delete('/sandbox/api/idempotency-keys', async (_request, reply) => {
    await forgetIdempotencyKeys(sandbox)
    return reply.code(204).send()
  })

  server.get('/sandbox/api/books', () => readBooks(sandbox))
  server.get('/sandbox/api/books/sessions', {
    schema: { querystring: CountQuery },
    handler: ({ query }) => countSessions(sandbox, query.by),
  })
}
