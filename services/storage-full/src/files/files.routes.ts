import { Readable } from 'node:stream'
import type { PageRequest } from '@plinth/kit/database'
import {
  acceptUploads,
  FileForm,
  fileReplies,
  receiveUpload,
  sendFile,
  UPLOAD_PROBLEMS,
} from '@plinth/kit/files'
import {
  basePathOf,
  type Guard,
  IdPath,
  inScope,
  lookUpText,
  pageQuery,
  pageRequest,
  pathId,
  type Reply,
  type Request,
  replyWith,
  type Server,
  Type,
  textIn,
} from '@plinth/kit/http'
import { storageUnavailable } from '../locations/problems.ts'
import { SCAN_PROBLEMS } from '../scanning/problems.ts'
import { representationOf, withContent } from './bytes.ts'
import {
  allFiles,
  describeFile,
  FileReply,
  ownerSeenBy,
  pageOfFiles,
  requireFile,
  storeFile,
} from './files.ts'
import { folderIn, folderText, ROOT } from './folders/paths.ts'
import { fileNotFound, fileOfAnotherUser, quotaExceeded, READ_PROBLEMS } from './problems.ts'
import { receiveFile } from './receive.ts'
import type { Storage, StoredFile } from './storage.ts'
import { requireRoom } from './usage/usage.ts'

const tags = ['Files']

/** Streamed, or sent as one page. */
const FilesReply = Type.Unsafe<unknown>(Type.Array(FileReply))

const FilesQuery = pageQuery([], {
  ownerId: Type.Optional(
    lookUpText({ description: 'For administrators: the files of one owner', examples: ['2'] }),
  ),
})

const UploadQuery = Type.Object({
  folder: Type.Optional(
    folderText({
      description: 'Where to put the file; missing folders are created with it',
      examples: ['/holidays/2026'],
    }),
  ),
})

/** Registered in a scope of its own, in which the handler reads the body itself, whatever its type. */
export function uploadRoute(
  server: Server,
  storage: Storage,
  { write, countBytes }: { write: Guard; countBytes(bytes: number): void },
): void {
  const { maxFileBytes, acceptedTypes: types } = storage.limits
  server.tellPages(() => ({
    uploads: { maxFileBytes, types },
    // Administrators change it while the service runs.
    versions: storage.limits.versions,
  }))
  inScope(server, (scope) => {
    acceptUploads(scope)
    scope.post('/file', {
      config: { receivesUpload: true },
      onRequest: write,
      schema: {
        operationId: 'upload',
        summary: 'Store a file at the active provider',
        tags,
        readsQuery: UploadQuery,
        readsBody: FileForm,
        response: { 201: replyWith({ headers: ['Location'] }, FileReply) },
        problems: [...UPLOAD_PROBLEMS, ...SCAN_PROBLEMS, storageUnavailable, quotaExceeded],
      },
      handler: async (request, reply) => {
        const startedAt = storage.clock()
        const folder = folderIn(request.query) ?? ROOT
        await using upload = await receiveFile(storage, {
          length: request.headers['content-length'],
          requireRoom: (bodyBytes) => requireRoom(storage, request.caller, bodyBytes),
          receive: (limits) => receiveUpload(request.raw, reply.raw, limits),
        })
        const file = await storeFile(storage, request.caller, upload, { startedAt, folder })
        countBytes(file.sizeBytes)
        reply.header('location', `${basePathOf(request)}/file/info/${file.id}`)
        return describeFile(file)
      },
    })
  })
}

export function fileRoutes(server: Server, storage: Storage, read: Guard): void {
  bytesRoutes(server, storage, read)
  server.get('/file/list', {
    onRequest: read,
    schema: {
      operationId: 'files',
      summary: 'Your files, newest first; for an administrator those of all users',
      description: 'Without `page` and `size`, all of them.',
      tags,
      readsQuery: FilesQuery,
      response: {
        200: replyWith({ headers: ['Link', 'X-Total-Count'] }, FilesReply),
      },
      problems: [fileOfAnotherUser],
    },
    handler: (request, reply) => sendList(request, reply, storage),
  })

  server.get('/file/info/:id', {
    onRequest: read,
    schema: {
      operationId: 'file',
      summary: 'The metadata of a file',
      tags,
      params: IdPath,
      response: { 200: FileReply },
      problems: [fileNotFound, fileOfAnotherUser],
    },
    handler: async ({ caller, params }) =>
      describeFile(await requireFile(storage, caller, pathId(params.id))),
  })
}

function bytesRoutes(server: Server, storage: Storage, read: Guard): void {
  for (const [path, as, operationId, summary] of [
    ['/file/stream/:id', 'inline', 'stream', 'The bytes of a file, to display'],
    ['/file/download/:id', 'attachment', 'download', 'The bytes of a file, to save'],
  ] as const)
    server.get(path, {
      onRequest: read,
      schema: {
        operationId,
        summary,
        description: 'Takes `Range` and the conditional headers of RFC 9110.',
        tags,
        params: IdPath,
        response: fileReplies(),
        problems: [fileNotFound, fileOfAnotherUser, ...READ_PROBLEMS],
      },
      handler: async (request, reply) => {
        const file = await requireFile(storage, request.caller, pathId(request.params.id))
        return withContent(storage, file, (found) =>
          sendFile(request, reply, representationOf(storage, found, as)),
        )
      },
    })
}

async function sendList(request: Request, reply: Reply, storage: Storage) {
  const { query } = request
  const { page: number, size } = query as Record<string, unknown>
  const page = pageRequest(query, [])
  const asked = textIn(query, 'ownerId')
  const owner = ownerSeenBy(request.caller, asked)
  reply.type('application/json; charset=utf-8')
  if (number === undefined && size === undefined)
    return reply.send(Readable.from(jsonArray(allFiles(storage, owner))))
  const { files, total } = await pageOfFiles(storage, owner, page)
  return reply
    .header('x-total-count', total)
    .header('link', pageLinks(listAddress(request, asked), page, total))
    .send(Readable.from(jsonArray(files)))
}

async function* jsonArray(batches: AsyncIterable<StoredFile[]>): AsyncGenerator<string> {
  let separator = '['
  for await (const files of batches) {
    if (files.length === 0) continue
    yield separator + files.map((file) => JSON.stringify(describeFile(file))).join(',')
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

function listAddress(request: Request, ownerId: string | undefined): string {
  const filter = ownerId === undefined ? '' : `ownerId=${encodeURIComponent(ownerId)}&`
  return `${basePathOf(request)}/file/list?${filter}`
}

/** RFC 8288: where the neighbouring pages are. */
function pageLinks(address: string, { page, size }: PageRequest, total: number): string {
  const last = Math.max(0, Math.ceil(total / size) - 1)
  const link = (to: number, relation: string) =>
    `<${address}page=${to}&size=${size}>; rel="${relation}"`
  return [
    link(0, 'first'),
    ...(page > 0 ? [link(Math.min(page - 1, last), 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next')] : []),
    link(last, 'last'),
  ].join(', ')
}
