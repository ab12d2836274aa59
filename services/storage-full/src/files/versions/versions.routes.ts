import { originOf } from '@plinth/accounts'
import {
  acceptUploads,
  FileForm,
  fileReplies,
  preconditionFailed,
  receiveUpload,
  sendFile,
  UPLOAD_PROBLEMS,
} from '@plinth/kit/files'
import {
  type Guard,
  IdPath,
  inScope,
  noContent,
  pathId,
  type Request,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { storageUnavailable } from '../../locations/problems.ts'
import { SCAN_PROBLEMS } from '../../scanning/problems.ts'
import { withContent } from '../bytes.ts'
import { describeFile, FileReply, requireFile } from '../files.ts'
import {
  fileNotFound,
  fileOfAnotherUser,
  noRoomToReplace,
  READ_PROBLEMS,
  storedBytesMissing,
  versionIsCurrent,
  versionNotFound,
} from '../problems.ts'
import { receiveFile } from '../receive.ts'
import type { Storage } from '../storage.ts'
import { replaceFile, requireReplaceable, roomToReplace } from './replace.ts'
import { deleteVersion, representationOfVersion, restoreVersion, versionsOf } from './versions.ts'

const tags = ['Versions']

const VersionReply = Type.Object(
  {
    version: Type.Integer({ minimum: 1 }),
    size: Type.Integer({ minimum: 0, description: 'Bytes' }),
    checksumSha256: Type.String({ description: 'Lower-case hex' }),
    createdAt: timestamp(),
    current: Type.Boolean(),
  },
  { title: 'FileVersion' },
)

const VersionPath = Type.Object({
  id: Type.String({ examples: ['1'] }),
  version: Type.String({ examples: ['1'] }),
})

const REFUSALS = [fileNotFound, fileOfAnotherUser]

type Guards = { read: Guard; write: Guard; countBytes(bytes: number): void }

export function versionRoutes(server: Server, storage: Storage, guards: Guards): void {
  replaceRoute(server, storage, guards)
  readRoutes(server, storage, guards.read)
  changeRoutes(server, storage, guards.write)
}

/** Registered in a scope of its own, as an upload is. */
function replaceRoute(server: Server, storage: Storage, { write, countBytes }: Guards): void {
  inScope(server, (scope) => {
    acceptUploads(scope)
    scope.put('/file/:id', {
      config: { receivesUpload: true },
      onRequest: write,
      schema: {
        operationId: 'replace',
        summary: 'Replace the content of a file',
        description:
          'Id, name and links stay; the type must be the same. With `If-Match`, only the content with this entity tag is replaced.',
        tags,
        params: IdPath,
        readsHeaders: Type.Object({
          'If-Match': Type.Optional(
            Type.String({ description: 'The `ETag` of the content to replace' }),
          ),
        }),
        readsBody: FileForm,
        response: { 200: FileReply },
        problems: [
          ...UPLOAD_PROBLEMS,
          ...SCAN_PROBLEMS,
          ...REFUSALS,
          storageUnavailable,
          noRoomToReplace,
          preconditionFailed,
        ],
      },
      handler: async (request, reply) => {
        const startedAt = storage.clock()
        const replacing = {
          id: pathId((request.params as { id: string }).id),
          caller: request.caller,
          origin: originOf(request),
          ifMatch: request.headers['if-match'],
        }
        const file = await requireReplaceable(storage, replacing)
        await using upload = await receiveFile(storage, {
          length: request.headers['content-length'],
          requireRoom: (bodyBytes) => roomToReplace(storage, file, bodyBytes),
          receive: (limits) => receiveUpload(request.raw, reply.raw, limits),
        })
        const replaced = await replaceFile(storage, replacing, upload, startedAt)
        countBytes(replaced.sizeBytes)
        return describeFile(replaced)
      },
    })
  })
}

function readRoutes(server: Server, storage: Storage, read: Guard): void {
  server.get('/file/:id/versions', {
    onRequest: read,
    schema: {
      operationId: 'versions',
      summary: 'The versions of a file, newest first',
      tags,
      params: IdPath,
      response: { 200: Type.Array(VersionReply) },
      problems: REFUSALS,
    },
    handler: ({ caller, params }) => versionsOf(storage, caller, pathId(params.id)),
  })

  server.get('/file/:id/versions/:version', {
    onRequest: read,
    schema: {
      operationId: 'downloadVersion',
      summary: 'The bytes of a version, to save',
      description: 'Takes `Range` and the conditional headers of RFC 9110.',
      tags,
      params: VersionPath,
      response: fileReplies(),
      problems: [...REFUSALS, versionNotFound, ...READ_PROBLEMS],
    },
    handler: async (request, reply) => {
      const { id, number } = versionIn(request)
      const file = await requireFile(storage, request.caller, id)
      return withContent(storage, file, async (found) =>
        sendFile(request, reply, await representationOfVersion(storage, found, number)),
      )
    },
  })
}

function changeRoutes(server: Server, storage: Storage, write: Guard): void {
  server.post('/file/:id/versions/:version/restore', {
    onRequest: write,
    schema: {
      operationId: 'restoreVersion',
      summary: 'Make a copy of an earlier version the newest one',
      tags,
      params: VersionPath,
      response: { 200: FileReply },
      problems: [
        ...REFUSALS,
        versionNotFound,
        versionIsCurrent,
        noRoomToReplace,
        storageUnavailable,
        storedBytesMissing,
      ],
    },
    handler: async (request) =>
      describeFile(await restoreVersion(storage, request.caller, versionIn(request))),
  })

  server.delete('/file/:id/versions/:version', {
    onRequest: write,
    schema: {
      operationId: 'deleteVersion',
      summary: 'Remove an earlier version for good',
      tags,
      params: VersionPath,
      response: { 204: noContent },
      problems: [...REFUSALS, versionNotFound, versionIsCurrent, storageUnavailable],
    },
    handler: (request) => deleteVersion(storage, request.caller, versionIn(request)),
  })
}

function versionIn(request: Request) {
  const { id, version } = request.params as { id: string; version: string }
  const number = pathId(version, { name: 'version' })
  return { id: pathId(id), number, origin: originOf(request) }
}
