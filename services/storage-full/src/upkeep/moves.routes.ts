import { byCaller } from '@plinth/accounts'
import type { Job } from '@plinth/kit/database'
import {
  basePathOf,
  type Guard,
  IdPath,
  oneOf,
  orNull,
  pathId,
  replyWith,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import type { Storage } from '../files/storage.ts'
import { ProviderField } from '../locations/locations.ts'
import {
  storageNotConfigured,
  storageTestFailed,
  storageUnavailable,
} from '../locations/problems.ts'
import {
  cancelMove,
  type Move,
  moveNotFound,
  moveUnderWay,
  recentMoves,
  requireMove,
  startMove,
} from './moves.ts'

const MoveBody = Type.Object({ to: ProviderField }, { title: 'MoveRequest' })

const count = Type.Integer({ minimum: 0 })

const MoveReply = Type.Object(
  {
    id: Type.Integer(),
    to: ProviderField,
    state: oneOf('RUNNING', 'DONE', 'CANCELLED'),
    total: count,
    moved: count,
    failed: count,
    movedBytes: count,
    lastError: orNull(Type.String()),
    requestedBy: Type.String({ examples: ['admin'] }),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
  { title: 'Move' },
)

const tags = ['Moves']

export function moveRoutes(
  server: Server,
  storage: Storage,
  { admin, recent, job }: { admin: Guard; recent: Guard; job: Job },
): void {
  server.post('/api/storage/moves', {
    onRequest: [admin, recent],
    schema: {
      operationId: 'startMove',
      summary: 'Move all files to a provider, in the background',
      tags,
      body: MoveBody,
      response: { 202: replyWith({ headers: ['Location'] }, MoveReply) },
      problems: [moveUnderWay, storageNotConfigured, storageTestFailed, storageUnavailable],
    },
    handler: async (request, reply) => {
      const { body, log } = request
      const move = await startMove(storage, byCaller(request), body.to)
      job.runNow().catch((error) => log.error({ err: error }, 'the move stopped'))
      reply.header('location', `${basePathOf(request)}/api/storage/moves/${move.id}`)
      return describeMove(move)
    },
  })

  server.get('/api/storage/moves', {
    onRequest: admin,
    schema: {
      operationId: 'moves',
      summary: 'The last moves, newest first',
      tags,
      response: { 200: Type.Array(MoveReply) },
    },
    handler: async () => (await recentMoves(storage)).map(describeMove),
  })

  server.get('/api/storage/moves/:id', {
    onRequest: admin,
    schema: {
      operationId: 'move',
      summary: 'The progress of a move',
      tags,
      params: IdPath,
      response: { 200: MoveReply },
      problems: [moveNotFound],
    },
    handler: async ({ params }) => describeMove(await requireMove(storage, pathId(params.id))),
  })

  server.delete('/api/storage/moves/:id', {
    onRequest: admin,
    schema: {
      operationId: 'cancelMove',
      summary: 'Stop a move; files already moved stay where they are',
      tags,
      params: IdPath,
      response: { 200: MoveReply },
      problems: [moveNotFound],
    },
    handler: async (request) =>
      describeMove(await cancelMove(storage, byCaller(request), pathId(request.params.id))),
  })
}

function describeMove({ targetLocationId, cursorId, versionCursorId, ...move }: Move) {
  return move
}
