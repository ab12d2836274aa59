import {
  type Reply,
  type Request,
  receiveUpload,
  type Server,
  sendFile,
  targetOf,
} from '@plinth/kit'
import { deleteFile, describeFile, type FileStore, representFile, storeFile } from './files.ts'
import { requestedName } from './request-target.ts'

export function fileRoutes(server: Server, store: FileStore): void {
  const countBytes = server.metrics.counter({
    name: 'plinth_upload_bytes_total',
    help: 'Bytes of files that were stored.',
  })
  server.post('/file', async (request, reply) => {
    const { name, sizeBytes } = await receiveFile(request, reply, store)
    countBytes({}, sizeBytes)
    return reply.type('text/plain; charset=utf-8').send(name)
  })

  server.get('/file/list', async (_request, reply) =>
    reply.type('application/json').send(await store.list()),
  )

  server.get('/file/info/:filename', (request) =>
    describeFile(store, requestedName(targetOf(request), 'info')),
  )

  server.get('/file/:filename', async (request, reply) =>
    sendFile(request, reply, await representFile(store, nameIn(request))),
  )

  server.delete('/file/:filename', (request) => deleteFile(store, nameIn(request)))
}

/** Returns once nothing temporary is left of the upload. */
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
