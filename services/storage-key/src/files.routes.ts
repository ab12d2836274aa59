import {
  DOWNLOAD_PROBLEMS,
  FileForm,
  fileReplies,
  receiveUpload,
  sendFile,
  UPLOAD_PROBLEMS,
} from '@plinth/kit/files'
import {
  type Reply,
  type Request,
  replyWith,
  type Server,
  Type,
  targetOf,
  timestamp,
} from '@plinth/kit/http'
import { tooManyOpenFiles } from '@plinth/kit/problems'
import { deleteFile, describeFile, type FileStore, representFile, storeFile } from './files.ts'
import { fileMissing, NAME_PROBLEMS, notAFile } from './problems.ts'
import { requestedName } from './request-target.ts'

const tags = ['Files']

const FileName = Type.String({ examples: ['0b9d6d2e-6a1b-4a52-9c39-5c1f0e8b7a61.png'] })

const FilePath = Type.Object({ filename: FileName })

const MetadataReply = Type.Object(
  {
    name: FileName,
    sizeKB: Type.Integer({ minimum: 0, description: 'Bytes divided by 1024, rounded down' }),
    mimeType: Type.String({ examples: ['image/png'] }),
    lastModified: timestamp(),
  },
  { title: 'FileMetadata' },
)

export function fileRoutes(server: Server, store: FileStore): void {
  const countBytes = server.metrics.counter({
    name: 'plinth_upload_bytes_total',
    help: 'Bytes of files that were stored.',
  })
  server.post('/file', {
    config: { receivesUpload: true },
    schema: {
      operationId: 'upload',
      summary: 'Store a PNG, JPEG, PDF or WebP file',
      description: 'Later calls take the name in the reply, not the original one.',
      tags,
      readsBody: FileForm,
      response: { 200: replyWith({ mediaTypes: ['text/plain'] }, FileName) },
      problems: [...UPLOAD_PROBLEMS, tooManyOpenFiles],
    },
    handler: async (request, reply) => {
      const { name, sizeBytes } = await receiveFile(request, reply, store)
      countBytes({}, sizeBytes)
      return reply.type('text/plain; charset=utf-8').send(name)
    },
  })

  server.get('/file/list', {
    schema: {
      operationId: 'list',
      summary: 'The names of all stored files, sorted',
      tags,
      response: { 200: Type.Unsafe<Buffer>(Type.Array(FileName)) },
      problems: [tooManyOpenFiles],
    },
    handler: async (_request, reply) => reply.type('application/json').send(await store.list()),
  })

  storedFileRoutes(server, store)
}

function storedFileRoutes(server: Server, store: FileStore): void {
  server.get('/file/info/:filename', {
    schema: {
      operationId: 'info',
      summary: 'Size, type and age of a stored file',
      tags,
      params: FilePath,
      response: { 200: MetadataReply },
      problems: [...NAME_PROBLEMS, fileMissing, tooManyOpenFiles],
    },
    handler: (request) => describeFile(store, requestedName(targetOf(request), 'info')),
  })

  server.get('/file/:filename', {
    schema: {
      operationId: 'download',
      summary: 'Download a stored file',
      description: 'Takes `Range` and the conditional headers of RFC 9110.',
      tags,
      params: FilePath,
      response: fileReplies({ digest: false }),
      problems: [...NAME_PROBLEMS, fileMissing, tooManyOpenFiles, ...DOWNLOAD_PROBLEMS],
    },
    handler: async (request, reply) =>
      sendFile(request, reply, await representFile(store, nameIn(request))),
  })

  server.delete('/file/:filename', {
    schema: {
      operationId: 'remove',
      summary: 'Delete a stored file',
      description: '`false`: there was no such file.',
      tags,
      params: FilePath,
      response: { 200: Type.Boolean() },
      problems: [...NAME_PROBLEMS, notAFile, tooManyOpenFiles],
    },
    handler: (request) => deleteFile(store, nameIn(request)),
  })
}

/** Returns once the temporary files of the upload are gone. */
async function receiveFile(
  request: Request,
  reply: Reply,
  store: FileStore,
): Promise<{ name: string; sizeBytes: number }> {
  await using upload = await receiveUpload(request.raw, reply.raw, store.uploads)
  return { name: await storeFile(store, upload), sizeBytes: upload.sizeBytes }
}

function nameIn(request: Request): string {
  return requestedName(targetOf(request), 'file')
}
