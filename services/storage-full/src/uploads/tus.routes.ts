import { originOf } from '@plinth/accounts'
import {
  acceptUploads,
  preconditionFailed,
  receiveBytes,
  UPLOAD_PROBLEMS,
  uploadTooLarge,
} from '@plinth/kit/files'
import {
  bareReply,
  basePathOf,
  type Guard,
  inScope,
  type Reply,
  type Request,
  type Result,
  resultOf,
  type Server,
  statusOf,
  Type,
} from '@plinth/kit/http'
import { mediaTypeUnsupported, methodNotAllowed } from '@plinth/kit/problems'
import { fileNotFound, fileOfAnotherUser, quotaExceeded } from '../files/problems.ts'
import { storageUnavailable } from '../locations/problems.ts'
import { SCAN_PROBLEMS } from '../scanning/problems.ts'
import { appendToUpload, type Incoming, stateOfUpload } from './append.ts'
import { PASSING, REFUSALS } from './finish.ts'
import {
  chunkChecksumMismatch,
  fileChecksumMismatch,
  offsetMismatch,
  tooManyUploads,
  tusVersionUnknown,
  uploadLocked,
  uploadNotFound,
  uploadWaiting,
} from './problems.ts'
import {
  announcedFile,
  CHUNK_TYPE,
  chunkOf,
  firstChunkOf,
  isChunk,
  offerOf,
  requireChunkType,
  requireTusVersion,
  stateHeaders,
  TUS_VERSION,
} from './tus.ts'
import { cancelUpload, createUpload, type Upload, type Uploads } from './uploads.ts'

const tags = ['Uploads']
const UPLOADS = '/file/uploads'
const UPLOAD = `${UPLOADS}/:uploadId`
const UploadPath = Type.Object({
  uploadId: Type.String({ examples: ['8f14e45fceea167a5a36dedd4bea2543'] }),
})

const version = Type.Literal(TUS_VERSION)
const checksum = Type.Optional(
  Type.String({
    description: 'Of the body: `sha1` or `sha256`, and the checksum in base64',
    examples: ['sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0='],
  }),
)
const bytes = Type.Integer({ minimum: 0 })
const TusHeaders = Type.Object({ 'Tus-Resumable': version })
const Chunk = {
  [CHUNK_TYPE]: Type.Unsafe<Blob>({
    type: 'string',
    contentMediaType: CHUNK_TYPE,
    description: 'The bytes of the file, beginning at the offset',
  }),
}
const STATE = ['Tus-Resumable', 'Upload-Offset', 'Upload-Expires', 'X-File-Id']
const PROBLEMS = [tusVersionUnknown, uploadNotFound, uploadLocked]
/** The first bytes, or all of them, may show what is wrong with a file. */
const CONTENT_PROBLEMS = [
  ...UPLOAD_PROBLEMS,
  ...SCAN_PROBLEMS,
  storageUnavailable,
  fileChecksumMismatch,
  // Of the file that is replaced.
  fileNotFound,
  fileOfAnotherUser,
  preconditionFailed,
]

/** tus 1.0.0. Registered in a scope of its own, in which the handlers read the bodies themselves. */
export function tusRoutes(server: Server, uploads: Uploads, write: Guard): void {
  const guards = [write, async ({ headers }: Request) => requireTusVersion(headers)]
  inScope(server, (scope) => {
    acceptUploads(scope)
    // Before the guards, so that their refusals have it, too.
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('tus-resumable', TUS_VERSION)
    })
    scope.addHook('onResponse', async (request, reply) => {
      const result = unhappyEnd(request, statusOf(reply))
      if (result) uploads.counts.result(result)
    })
    offerRoutes(scope, uploads)
    for (const route of [creationRoute, stateRoute, appendRoute, cancelRoute, overrideRoute])
      route(scope, uploads, guards)
  })
}

/** What a refusal means for the whole upload; undefined after those with which it goes on. */
function unhappyEnd({ routeOptions, refusal }: Request, status: number): Result | undefined {
  const isCreation = routeOptions.url === UPLOADS
  const isOver = REFUSALS.some((problem) => problem.code === refusal && problem.status === status)
  if (status < 400 || !(isCreation || isOver || status >= 500)) return undefined
  return resultOf(status)
}

function offerRoutes(scope: Server, { storage }: Uploads): void {
  const offer = offerOf(storage.limits.maxFileBytes)
  const handler = (_request: Request, reply: Reply) => reply.headers(offer).send()
  scope.options(UPLOADS, {
    schema: {
      operationId: 'uploadOffer',
      summary: 'What the tus protocol offers here',
      tags,
      response: {
        204: bareReply({
          headers: ['Tus-Resumable', ...Object.keys(offer).map(headerName)],
        }),
      },
    },
    handler,
  })
  scope.options(UPLOAD, { schema: { hide: true, response: { 204: bareReply({}) } }, handler })
}

function headerName(name: string): string {
  return name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())
}

function creationRoute(scope: Server, uploads: Uploads, guards: Guard[]): void {
  scope.post(UPLOADS, {
    config: { receivesUpload: true },
    onRequest: guards,
    schema: {
      operationId: 'createUpload',
      summary: 'Begin an upload that can be resumed (tus 1.0.0)',
      description:
        'A body of `application/offset+octet-stream` are the first bytes of the file, or all of them.',
      tags,
      readsHeaders: Type.Object({
        'Tus-Resumable': version,
        'Upload-Length': Type.Integer({
          minimum: 1,
          description: 'Of the file',
          examples: [48213],
        }),
        'Upload-Metadata': Type.String({
          description:
            'Keys with values in base64: `filename` or `name`, `filetype` or `type`, `sha256` (hex, of the file), `replaces` (the id of the file whose content it becomes)',
          examples: ['filename aG9saWRheS5wbmc=,filetype aW1hZ2UvcG5n'],
        }),
        'Upload-Checksum': checksum,
        'If-Match': Type.Optional(
          Type.String({ description: 'With `replaces`: the `ETag` of the content to replace' }),
        ),
      }),
      response: {
        201: bareReply({ description: 'Created', headers: ['Location', ...STATE] }),
      },
      problems: [
        ...CONTENT_PROBLEMS,
        tusVersionUnknown,
        uploadNotFound,
        uploadLocked,
        quotaExceeded,
        tooManyUploads,
        mediaTypeUnsupported,
        chunkChecksumMismatch,
      ],
    },
    handler: async (request, reply) => {
      const upload = await create(request, reply, uploads)
      reply
        .headers(stateHeaders(upload))
        .header('location', `${basePathOf(request)}${UPLOADS}/${upload.id}`)
      return reply.send()
    },
  })
}

/** A client whose first bytes are refused never learns the address of the upload, so nothing is left of it. */
async function create(request: Request, reply: Reply, uploads: Uploads): Promise<Upload> {
  const { headers, caller } = request
  const announced = announcedFile(headers)
  const chunk = firstChunkOf(headers)
  if (chunk.sizeBytes !== 0) requireChunkType(headers)
  if ((chunk.sizeBytes ?? 0) > announced.length) throw uploadTooLarge()
  const upload = await createUpload(uploads, caller, announced)
  if (chunk.sizeBytes === 0 || !isChunk(headers)) return upload
  const incoming = { ...chunk, ...receiving(request, reply, uploads) }
  try {
    return await appendToUpload(uploads, caller, upload.id, incoming)
  } catch (error) {
    await cancelUpload(uploads, caller, upload.id).catch((failure) => {
      if (!uploadNotFound.is(failure))
        uploads.storage.log.warn({ err: failure }, 'a refused upload could not be cancelled')
    })
    throw error
  }
}

function receiving(
  request: Request,
  reply: Reply,
  { storage }: Uploads,
): Pick<Incoming, 'startedAt' | 'origin' | 'receive'> {
  const { raw, headers } = request
  return {
    startedAt: storage.clock(),
    origin: originOf(request),
    // Without a body there is no stream that would end.
    receive: async (maxBytes, take) => {
      if (firstChunkOf(headers).sizeBytes === 0) return
      await receiveBytes(raw, reply.raw, { maxBytes }, take)
    },
  }
}

function idOf({ params }: Request): string {
  return (params as { uploadId: string }).uploadId
}

async function sendState(request: Request, reply: Reply, uploads: Uploads) {
  const by = { caller: request.caller, origin: originOf(request) }
  const upload = await stateOfUpload(uploads, by, idOf(request))
  reply
    .code(200)
    .headers(stateHeaders(upload))
    .header('upload-length', String(upload.length))
    .header('cache-control', 'no-store')
  if (upload.metadata !== '') reply.header('upload-metadata', upload.metadata)
  return reply.send()
}

function stateRoute(scope: Server, uploads: Uploads, guards: Guard[]): void {
  scope.head(UPLOAD, {
    onRequest: guards,
    schema: {
      describesHead: true,
      operationId: 'uploadState',
      summary: 'How much of an upload has arrived',
      description:
        'The offset equals the length only when the file exists: then X-File-Id is its id. 423 when another request has the upload, or when all bytes are there but no file can be made of them yet.',
      tags,
      params: UploadPath,
      readsHeaders: TusHeaders,
      response: {
        200: bareReply({
          headers: [...STATE, 'Upload-Length', 'Upload-Metadata', 'Cache-Control'],
        }),
      },
      problems: [
        ...CONTENT_PROBLEMS.filter((problem) => !PASSING.includes(problem)),
        ...PROBLEMS,
        uploadWaiting,
      ],
    },
    handler: (request, reply) => sendState(request, reply, uploads),
  })
}

async function append(request: Request, reply: Reply, uploads: Uploads) {
  requireChunkType(request.headers)
  const chunk = chunkOf(request.headers)
  const incoming = { ...chunk, ...receiving(request, reply, uploads) }
  const upload = await appendToUpload(uploads, request.caller, idOf(request), incoming)
  return reply.code(204).headers(stateHeaders(upload)).send()
}

function appendRoute(scope: Server, uploads: Uploads, guards: Guard[]): void {
  scope.patch(UPLOAD, {
    config: { receivesUpload: true },
    onRequest: guards,
    schema: {
      operationId: 'appendToUpload',
      summary: 'Send the next bytes of an upload',
      description:
        'What arrived of a body that broke off is kept. The reply to the last byte comes when the file exists.',
      tags,
      params: UploadPath,
      readsHeaders: Type.Object({
        'Tus-Resumable': version,
        'Upload-Offset': bytes,
        'Upload-Checksum': checksum,
      }),
      readsBody: Chunk,
      response: { 204: bareReply({ headers: STATE }) },
      problems: [
        ...CONTENT_PROBLEMS,
        ...PROBLEMS,
        quotaExceeded,
        offsetMismatch,
        mediaTypeUnsupported,
        chunkChecksumMismatch,
      ],
    },
    handler: (request, reply) => append(request, reply, uploads),
  })
}

async function cancel(request: Request, reply: Reply, uploads: Uploads) {
  await cancelUpload(uploads, request.caller, idOf(request))
  return reply.code(204).send()
}

function cancelRoute(scope: Server, uploads: Uploads, guards: Guard[]): void {
  scope.delete(UPLOAD, {
    onRequest: guards,
    schema: {
      operationId: 'cancelUpload',
      summary: 'End an upload; a file that it has become stays',
      tags,
      params: UploadPath,
      readsHeaders: TusHeaders,
      response: { 204: bareReply({ headers: ['Tus-Resumable'] }) },
      problems: PROBLEMS,
    },
    handler: (request, reply) => cancel(request, reply, uploads),
  })
}

/** For clients behind something that lets only GET and POST through. */
function overrideRoute(scope: Server, uploads: Uploads, guards: Guard[]): void {
  scope.post(UPLOAD, {
    config: { receivesUpload: true },
    onRequest: guards,
    schema: { hide: true },
    handler: (request, reply) => {
      switch (request.headers['x-http-method-override']) {
        case 'PATCH':
          return append(request, reply, uploads)
        case 'HEAD':
          return sendState(request, reply, uploads)
        case 'DELETE':
          return cancel(request, reply, uploads)
        default:
          throw methodNotAllowed({ headers: { allow: 'DELETE, GET, HEAD, PATCH' } })
      }
    },
  })
}
