import { type Server, Type } from '@plinth/kit'
import { exportScenario, importScenario, resetSandbox } from '../state/scenario.ts'
import type { Controls } from './controls.ts'

const MOST_BYTES = 64 * 2 ** 20

const ScenarioBody = Type.Object({
  plinthSandbox: Type.Literal(1),
  tables: Type.Record(Type.String(), Type.Array(Type.Object({}))),
})

/** The whole state as a file, to keep, to send to someone, or to start a test from. */
export function scenarioRoutes(server: Server, { sandbox, clock }: Controls): void {
  server.get('/sandbox/api/scenario', (_request, reply) => {
    reply.header('content-disposition', 'attachment; filename="scenario.json"')
    return exportScenario(sandbox)
  })
  server.put('/sandbox/api/scenario', {
    schema: { body: ScenarioBody },
    bodyLimit: MOST_BYTES,
    handler: async ({ body }, reply) => {
      await importScenario(sandbox, clock, body)
      return reply.code(204).send()
    },
  })
  server.post('/sandbox/api/reset', async (_request, reply) => {
    await resetSandbox(sandbox, clock)
    return reply.code(204).send()
  })
}
