import { type Reply, type Server, Type } from '@plinth/kit/http'
import { FAULT_KINDS, type FaultKind } from '../api/faults/fault.ts'
import { countSessions, readBooks } from '../resources/money/books.ts'
import { REFUND_MODES, readSwitches, SIGNING_MODES } from '../state/switches.ts'
import { exportScenario, importScenario, resetSandbox } from './scenario.ts'
import {
  addFault,
  advanceClock,
  type Controls,
  forgetIdempotencyKeys,
  listRecent,
  listRecentRequests,
  readClock,
  readFaults,
  removeFault,
  removeFaults,
  resetClock,
  resetSwitches,
  turnSwitches,
} from './state.ts'

const AdvanceBody = Type.Object({ seconds: Type.Integer({ minimum: 0, maximum: 10 ** 9 }) })

const CountQuery = Type.Object({ by: Type.String() })

const SwitchesBody = Type.Object(
  {
    paused: Type.Optional(Type.Boolean()),
    drop: Type.Optional(Type.Array(Type.String())),
    delaySeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 ** 9 })),
    duplicates: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    reorder: Type.Optional(Type.Integer({ minimum: 0 })),
    eventSecond: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 10 ** 11 }), Type.Null()]),
    ),
    signWith: Type.Optional(Type.Union(SIGNING_MODES.map((mode) => Type.Literal(mode)))),
    apiVersion: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    refunds: Type.Optional(Type.Union(REFUND_MODES.map((mode) => Type.Literal(mode)))),
    amountLimits: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

/** The clock, the switches, the faults, the scenario, and the lists. */
export function stateRoutes(server: Server, controls: Controls): void {
  faultRoutes(server, controls)
  scenarioRoutes(server, controls)
  const { sandbox } = controls
  server.get('/sandbox/api/clock', () => readClock(controls))
  server.post('/sandbox/api/clock/advance', {
    schema: { body: AdvanceBody },
    handler: ({ body }) => advanceClock(controls, body.seconds),
  })
  server.delete('/sandbox/api/clock', () => resetClock(controls))

  server.get('/sandbox/api/switches', () => readSwitches(sandbox.db))
  server.patch('/sandbox/api/switches', {
    schema: { body: SwitchesBody },
    handler: ({ body }) => turnSwitches(sandbox, body),
  })
  server.delete('/sandbox/api/switches', () => resetSwitches(sandbox))

  server.get('/sandbox/api/sessions', () => listRecent(sandbox, 'checkout.session'))
  server.get('/sandbox/api/refunds', () => listRecent(sandbox, 'refund'))
  server.get('/sandbox/api/requests', () => listRecentRequests(sandbox))
  server.delete('/sandbox/api/idempotency-keys', (_request, reply) =>
    sendNoContent(reply, forgetIdempotencyKeys(sandbox)),
  )

  server.get('/sandbox/api/books', () => readBooks(sandbox))
  server.get('/sandbox/api/books/sessions', {
    schema: { querystring: CountQuery },
    handler: ({ query }) => countSessions(sandbox, query.by),
  })
}

const KINDS = Object.keys(FAULT_KINDS) as FaultKind[]

/** A longer timer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

const FaultBody = Type.Object({
  kind: Type.Union(KINDS.map((kind) => Type.Literal(kind))),
  route: Type.Optional(Type.String({ pattern: '^(\\*|(GET|POST|DELETE) (\\*|/v1/\\S+))$' })),
  times: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])),
  probability: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  delayMs: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: MAX_TIMER_MS }), Type.Null()]),
  ),
  retryAfterSeconds: Type.Optional(Type.Integer({ minimum: 0 })),
})

const FaultParams = Type.Object({ id: Type.String({ pattern: '^\\d{1,15}$' }) })

/** The faults that strike the next calls. */
function faultRoutes(server: Server, { sandbox, held }: Controls): void {
  server.get('/sandbox/api/faults', async () => ({
    faults: await readFaults(sandbox),
    kinds: FAULT_KINDS,
  }))
  server.post('/sandbox/api/faults', {
    schema: { body: FaultBody },
    handler: async ({ body }, reply) => reply.code(201).send(await addFault(sandbox, body)),
  })
  server.delete('/sandbox/api/faults', (_request, reply) =>
    sendNoContent(reply, removeFaults(sandbox)),
  )
  server.delete('/sandbox/api/faults/:id', {
    schema: { params: FaultParams },
    handler: ({ params }, reply) => sendNoContent(reply, removeFault(sandbox, Number(params.id))),
  })
  server.post('/sandbox/api/faults/release', () => ({ released: held.release() }))
}

const MAX_BYTES = 64 * 2 ** 20

const ScenarioBody = Type.Object({
  plinthSandbox: Type.Literal(1),
  tables: Type.Record(Type.String(), Type.Array(Type.Object({}))),
})

/** The whole state as a file, to keep, to share, or to start a test from. */
function scenarioRoutes(server: Server, { sandbox, clock }: Controls): void {
  server.get('/sandbox/api/scenario', (_request, reply) => {
    reply.header('content-disposition', 'attachment; filename="scenario.json"')
    return exportScenario(sandbox)
  })
  server.put('/sandbox/api/scenario', {
    schema: { body: ScenarioBody },
    bodyLimit: MAX_BYTES,
    handler: ({ body }, reply) => sendNoContent(reply, importScenario(sandbox, clock, body)),
  })
  server.post('/sandbox/api/reset', (_request, reply) =>
    sendNoContent(reply, resetSandbox(sandbox, clock)),
  )
}

async function sendNoContent(reply: Reply, work: Promise<void>): Promise<Reply> {
  await work
  return reply.code(204).send()
}
