import { byCaller } from '@plinth/accounts'
import { basePathOf, type Guard, type Job, pathId, type Server, Type } from '@plinth/kit'
import type { Storage } from '../files/storage.ts'
import { ProviderField } from '../locations/locations.ts'
import { cancelMove, type Move, recentMoves, requireMove, startMove } from './moves.ts'

type ById = { Params: { id: string } }

const MoveBody = Type.Object({ to: ProviderField })

export function moveRoutes(
  server: Server,
  storage: Storage,
  { admin, job }: { admin: Guard; job: Job },
): void {
  server.post('/api/storage/moves', {
    onRequest: admin,
    schema: { body: MoveBody },
    handler: async (request, reply) => {
      const { body, log } = request
      const move = await startMove(storage, byCaller(request), body.to)
      job.runNow().catch((error) => log.error({ err: error }, 'the move stopped'))
      reply.code(202).header('location', `${basePathOf(request)}/api/storage/moves/${move.id}`)
      return describeMove(move)
    },
  })

  server.get('/api/storage/moves', {
    onRequest: admin,
    handler: async () => (await recentMoves(storage)).map(describeMove),
  })

  server.get<ById>('/api/storage/moves/:id', {
    onRequest: admin,
    handler: async ({ params }) => describeMove(await requireMove(storage, pathId(params.id))),
  })

  server.delete<ById>('/api/storage/moves/:id', {
    onRequest: admin,
    handler: async (request) =>
      describeMove(await cancelMove(storage, byCaller(request), pathId(request.params.id))),
  })
}

function describeMove({ targetLocationId, cursorId, ...move }: Move) {
  return move
}
