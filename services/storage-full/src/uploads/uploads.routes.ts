import { type Guard, orNull, type Server, Type, timestamp } from '@plinth/kit/http'
import { uploadNotFound } from './problems.ts'
import { requireUpload, type Upload, type Uploads, unfinishedUploads } from './uploads.ts'

const MAX_LISTED = 1_000

const UploadReply = Type.Object(
  {
    uploadId: Type.String({ examples: ['8f14e45fceea167a5a36dedd4bea2543'] }),
    filename: Type.String({ examples: ['holiday.png'] }),
    folder: Type.String({ examples: ['/'] }),
    offset: Type.Integer({ minimum: 0, description: 'How many bytes have arrived' }),
    length: Type.Integer({ minimum: 1, description: 'How many bytes the file has' }),
    createdAt: timestamp(),
    expiresAt: timestamp(),
    fileId: orNull(Type.Integer({ description: 'The file, when the upload is finished' })),
  },
  { title: 'Upload' },
)

/** Not part of the tus protocol: for a page that shows what can be resumed. */
export function uploadListRoutes(server: Server, { storage }: Uploads, read: Guard): void {
  server.get('/file/uploads', {
    onRequest: read,
    schema: {
      operationId: 'uploads',
      summary: 'Your unfinished uploads, newest first',
      tags: ['Uploads'],
      response: { 200: Type.Array(UploadReply) },
    },
    handler: async ({ caller }) =>
      (await unfinishedUploads(storage, caller, MAX_LISTED)).map(describeUpload),
  })

  server.get('/file/uploads/:uploadId', {
    // HEAD at this path is the tus protocol's.
    exposeHeadRoute: false,
    onRequest: read,
    schema: {
      operationId: 'uploadById',
      summary: 'One of your uploads',
      tags: ['Uploads'],
      params: Type.Object({
        uploadId: Type.String({ examples: ['8f14e45fceea167a5a36dedd4bea2543'] }),
      }),
      response: { 200: UploadReply },
      problems: [uploadNotFound],
    },
    handler: async ({ caller, params }) =>
      describeUpload(await requireUpload(storage, caller, params.uploadId)),
  })
}

function describeUpload(upload: Upload) {
  const { id, filename, folder, offset, length, createdAt, expiresAt, fileId } = upload
  return { uploadId: id, ...{ filename, folder, offset, length, createdAt, expiresAt, fileId } }
}
