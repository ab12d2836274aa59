import { originOf } from '@plinth/accounts'
import {
  type Guard,
  IdPath,
  lookUpText,
  noContent,
  oneOf,
  pageQuery,
  pageReply,
  pageRequest,
  pathId,
  type Server,
  Type,
  textIn,
  timestamp,
} from '@plinth/kit/http'
import { storageUnavailable } from '../../locations/problems.ts'
import { FileReply } from '../files.ts'
import { fileNotFound, fileOfAnotherUser, noRoomToRestore, nothingToRestore } from '../problems.ts'
import type { Storage } from '../storage.ts'
import { deleteFile, deleteRestorably, pageOfRestorable, restoreFile } from './deletions.ts'

const tags = ['Files']

const RestorableReply = Type.Object(
  { ...FileReply.properties, deletedAt: timestamp(), restorableUntil: timestamp() },
  { title: 'RestorableFile' },
)

const DeletionQuery = Type.Object({ restorable: Type.Optional(oneOf('true', 'false')) })

const RestorableQuery = pageQuery([], {
  ownerId: Type.Optional(
    lookUpText({ description: 'For administrators: the files of one owner', examples: ['2'] }),
  ),
})

export function deletionRoutes(
  server: Server,
  storage: Storage,
  { read, write }: { read: Guard; write: Guard },
): void {
  server.delete('/file/:id', {
    onRequest: write,
    schema: {
      operationId: 'remove',
      summary: 'Delete a file, its thumbnail and its metadata',
      description:
        'With `restorable=true` the file is gone for everyone, but its bytes are kept for a while: 200, with the time until which it can be restored. Without it, a file that can still be restored is removed for good.',
      tags,
      params: IdPath,
      querystring: DeletionQuery,
      response: { 200: RestorableReply, 204: noContent },
      problems: [fileNotFound, fileOfAnotherUser, storageUnavailable],
    },
    handler: async (request, reply) => {
      const { caller, params, query } = request
      const asked = { id: pathId(params.id), origin: originOf(request) }
      if (query.restorable === 'true') return deleteRestorably(storage, caller, asked)
      await deleteFile(storage, caller, asked)
      return reply.code(204).send()
    },
  })

  server.get('/file/deleted', {
    onRequest: read,
    schema: {
      operationId: 'deletedFiles',
      summary: 'Deleted files that you can still restore, most recently deleted first',
      description:
        'Administrators see those of all users, including files that others have deleted.',
      tags,
      readsQuery: RestorableQuery,
      response: { 200: pageReply(RestorableReply, 'PageOfRestorableFiles') },
      problems: [fileOfAnotherUser],
    },
    handler: ({ caller, query }) => {
      const ownerId = textIn(query, 'ownerId')
      return pageOfRestorable(storage, caller, { ownerId, page: pageRequest(query, []) })
    },
  })

  server.post('/file/:id/restore', {
    onRequest: write,
    schema: {
      operationId: 'restore',
      summary: 'Restore a deleted file, with its links',
      tags,
      params: IdPath,
      response: { 200: FileReply },
      problems: [nothingToRestore, fileOfAnotherUser, noRoomToRestore],
    },
    handler: (request) => {
      const asked = { id: pathId(request.params.id), origin: originOf(request) }
      return restoreFile(storage, request.caller, asked)
    },
  })
}
