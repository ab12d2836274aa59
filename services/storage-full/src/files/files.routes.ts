import { Readable } from 'node:stream'
import { originOf } from '@plinth/accounts'
import {
  acceptUploads,
  basePathOf,
  type Guard,
  type PageRequest,
  pageRequest,
  pathId,
  type Reply,
  type Request,
  receiveUpload,
  type Server,
  sendFile,
  type Upload,
  uploadTooLarge,
} from '@plinth/kit'
import { asStorageFault } from '../locations/problems.ts'
import { representationOf } from './bytes.ts'
import {
  allFiles,
  deleteFile,
  describeFile,
  pageOfFiles,
  requireFile,
  storeFile,
  uploadLimits,
} from './files.ts'
import type { Storage, StoredFile } from './storage.ts'
import { overQuota, requireRoom } from './usage/usage.ts'

type ById = { Params: { id: string } }

/** In a scope of its own, because here every body is left to the handler. */
export function uploadRoute(server: Server, storage: Storage, caller: Guard): void {
  const countBytes = server.metrics.counter({
    name: 'plinth_upload_bytes_total',
    help: 'Bytes of files that were stored.',
  })
  server.register(async (scope) => {
    acceptUploads(scope as Server, '*')
    scope.post('/file', {
      onRequest: caller,
      handler: async (request, reply) => {
        await using upload = await receive(request, reply, storage)
        const file = await storeFile(storage, request.caller, upload)
        countBytes({}, file.sizeBytes)
        reply.code(201).header('location', `${basePathOf(request)}/file/info/${file.id}`)
        return describeFile(file)
      },
    })
  })
}

/** A spool folder that is full or missing is a fault of the storage, not a bug. */
async function receive(request: Request, reply: Reply, storage: Storage): Promise<Upload> {
  const room = await requireRoom(storage, request.caller)
  try {
    return await receiveUpload(request.raw, reply.raw, uploadLimits(storage, room))
  } catch (error) {
    if (uploadTooLarge.is(error) && room < storage.limits.maxFileBytes)
      throw overQuota(storage.limits.quota)
    throw asStorageFault(error)
  }
}

export function fileRoutes(server: Server, storage: Storage, caller: Guard): void {
  server.get('/file/list', {
    onRequest: caller,
    handler: (request, reply) => sendList(request, reply, storage),
  })

  server.get<ById>('/file/info/:id', {
    onRequest: caller,
    handler: async ({ caller, params }) =>
      describeFile(await requireFile(storage, caller, pathId(params.id))),
  })

  for (const [path, as] of [
    ['/file/stream/:id', 'inline'],
    ['/file/download/:id', 'attachment'],
  ] as const)
    server.get<ById>(path, {
      onRequest: caller,
      handler: async (request, reply) => {
        const file = await requireFile(storage, request.caller, pathId(request.params.id))
        return sendFile(request, reply, representationOf(storage, file, as))
      },
    })

  server.delete<ById>('/file/:id', {
    onRequest: caller,
    handler: async (request, reply) => {
      const id = pathId(request.params.id)
      await deleteFile(storage, request.caller, { id, origin: originOf(request) })
      return reply.code(204).send()
    },
  })
}

async function sendList(request: Request, reply: Reply, storage: Storage) {
  const { page: number, size } = (request.query ?? {}) as Record<string, unknown>
  if (number === undefined && size === undefined) {
    reply.type('application/json; charset=utf-8')
    return reply.send(Readable.from(jsonArray(allFiles(storage, request.caller))))
  }
  const page = pageRequest({ page: number, size }, [])
  const { files, total } = await pageOfFiles(storage, request.caller, page)
  reply.header('x-total-count', total).header('link', pageLinks(basePathOf(request), page, total))
  return files.map(describeFile)
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

/** RFC 8288: where the neighbouring pages are. */
function pageLinks(basePath: string, { page, size }: PageRequest, total: number): string {
  const last = Math.max(0, Math.ceil(total / size) - 1)
  const link = (to: number, relation: string) =>
    `<${basePath}/file/list?page=${to}&size=${size}>; rel="${relation}"`
  return [
    link(0, 'first'),
    ...(page > 0 ? [link(Math.min(page - 1, last), 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next')] : []),
    link(last, 'last'),
  ].join(', ')
}
