import { Readable } from 'node:stream'
import { originOf } from '@plinth/accounts'
import type { PageRequest } from '@plinth/kit/database'
import {
  type Guard,
  IdPath,
  lookUpText,
  noContent,
  oneOf,
  pageOf,
  pageQuery,
  pageReply,
  pageRequest,
  pathId,
  type Reply,
  type Request,
  type Server,
  Type,
  textIn,
  timestamp,
} from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { storageUnavailable } from '../../locations/problems.ts'
import { FileReply } from '../files.ts'
import { folderIn, folderText } from '../folders/paths.ts'
import { fileNotFound, fileOfAnotherUser, noRoomToRestore, nothingToRestore } from '../problems.ts'
import type { Storage } from '../storage.ts'
import { deleteFile, deleteRestorably, pageOfRestorable, restoreFile } from './deletions.ts'
import { emptyTrash } from './trash.ts'

const tags = ['Files']
const MAX_QUERY_LENGTH = 200

const RestorableReply = Type.Object(
  { ...FileReply.properties, deletedAt: timestamp(), restorableUntil: timestamp() },
  { title: 'RestorableFile' },
)

const DeletionQuery = Type.Object({ restorable: Type.Optional(oneOf('true', 'false')) })

const owner = Type.Optional(
  lookUpText({ description: 'For administrators: the files of one owner', examples: ['2'] }),
)

const OwnerQuery = Type.Object({ ownerId: owner })

const EmptiedReply = Type.Object(
  {
    files: Type.Integer({ minimum: 0 }),
    bytes: Type.Integer({ minimum: 0, description: 'With those of earlier versions' }),
  },
  { title: 'EmptiedTrash' },
)

const RestorableQuery = pageQuery([], {
  q: Type.Optional(
    lookUpText({
      maxLength: MAX_QUERY_LENGTH,
      description: 'Words with which words of the name begin',
      examples: ['inv 2026'],
    }),
  ),
  folder: Type.Optional(
    folderText({ description: 'Only files from this folder', examples: ['/holidays'] }),
  ),
  ownerId: owner,
})

type Guards = { read: Guard; write: Guard }

export function deletionRoutes(server: Server, storage: Storage, guards: Guards): void {
  const { write } = guards
  trashRoutes(server, storage, guards)
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

  server.post('/file/:id/restore', {
    onRequest: write,
    schema: {
      operationId: 'restore',
      summary: 'Restore a deleted file into its folder, with its versions and links',
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

function trashRoutes(server: Server, storage: Storage, { read, write }: Guards): void {
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
    handler: (request: Request, reply: Reply) => sendTrash(request, reply, storage),
  })

  server.delete('/file/deleted', {
    onRequest: write,
    schema: {
      operationId: 'emptyTrash',
      summary: 'Remove for good the deleted files that you could restore',
      description:
        'Of your own files. With `ownerId` an administrator empties the trash of that owner. Nothing can be restored from now on; the bytes are removed within a minute.',
      tags,
      readsQuery: OwnerQuery,
      response: { 200: EmptiedReply },
      problems: [fileOfAnotherUser],
    },
    handler: (request) => {
      const ownerId = textIn(request.query, 'ownerId')
      return emptyTrash(storage, request.caller, { ownerId, origin: originOf(request) })
    },
  })
}

async function sendTrash({ caller, query }: Request, reply: Reply, storage: Storage) {
  const q = textIn(query, 'q')
  if (q !== undefined && q.length > MAX_QUERY_LENGTH)
    throw validationFailed([`q: must have at most ${MAX_QUERY_LENGTH} characters`])
  const page = pageRequest(query, [])
  const asked = { ownerId: textIn(query, 'ownerId'), q, folder: folderIn(query), page }
  const { files, total } = await pageOfRestorable(storage, caller, asked)
  return reply
    .type('application/json; charset=utf-8')
    .send(Readable.from(jsonPage(files, total, page)))
}

/** A page of files with much metadata would take hundreds of megabytes: it is sent as it is read. */
async function* jsonPage(
  batches: AsyncIterable<object[]>,
  total: number,
  page: PageRequest,
): AsyncGenerator<string> {
  let count = 0
  yield '{"content":['
  for await (const files of batches) {
    if (files.length === 0) continue
    const separator = count === 0 ? '' : ','
    yield separator + files.map((file) => JSON.stringify(file)).join(',')
    count += files.length
  }
  const { content: _, ...others } = pageOf(Array.from({ length: count }), total, page)
  yield `],${JSON.stringify(others).slice(1)}`
}
