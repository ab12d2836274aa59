import { type Server, Type } from '@plinth/kit'
import { FAULT_KINDS, type FaultKind } from '../faults/fault.ts'
import type { Controls } from './controls.ts'
import { addFault, readFaults, removeFault, removeFaults } from './fault-controls.ts'

const KINDS = Object.keys(FAULT_KINDS) as FaultKind[]

const FaultBody = Type.Object({
  kind: Type.Union(KINDS.map((kind) => Type.Literal(kind))),
  route: Type.Optional(Type.String({ pattern: '^(\\*|(GET|POST|DELETE) (\\*|/v1/\\S+))$' })),
  times: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])),
  probability: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  delayMs: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
  retryAfterSeconds: Type.Optional(Type.Integer({ minimum: 0 })),
})
const FaultParams = Type.Object({ id: Type.String({ pattern: '^\\d{1,15}$' }) })

/** What goes wrong with the next calls. */
export function faultRoutes(server: Server, { sandbox, held }: Controls): void {
  server.get('/sandbox/api/faults', async () => ({
    faults: await readFaults(sandbox),
    kinds: FAULT_KINDS,
  }))
  server.post('/sandbox/api/faults', {
    schema: { body: FaultBody },
    handler: async ({ body }, reply) => reply.code(201).send(await addFault(sandbox, body)),
  })
  server.delete('/sandbox/api/faults', async (_request, reply) => {
    await removeFaults(sandbox)
    return reply.code(204).send()
  })
  server.delete('/sandbox/api/faults/:id', {
    schema: { params: FaultParams },
    handler: async ({ params }, reply) => {
      await removeFault(sandbox, Number(params.id))
      return reply.code(204).send()
    },
  })
  server.post('/sandbox/api/faults/release', () => ({ released: held.release() }))
}
