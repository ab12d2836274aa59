import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  contentDisposition,
  type Guard,
  type Representation,
  type Server,
  sendFile,
} from '@plinth/kit'
import { fallbackPicture } from './fallback-picture.ts'
import { requireFile } from './files.ts'
import { idFrom } from './ids.ts'
import { sendStoredFile } from './send-stored-file.ts'
import type { Storage } from './storage.ts'
import type { StoredFile } from './stored-file.ts'
import { thumbnailOf } from './thumbnails.ts'

type ById = { Params: { id: string } }

export function fileBytesRoutes(server: Server, storage: Storage, caller: Guard): void {
  server.get<ById>('/file/stream/:id', {
    onRequest: caller,
    handler: async (request, reply) => {
      const file = await requireFile(storage, request.caller, idFrom(request.params.id))
      return sendStoredFile(request, reply, storage, { file, as: 'inline' })
    },
  })

  server.get<ById>('/file/download/:id', {
    onRequest: caller,
    handler: async (request, reply) => {
      const file = await requireFile(storage, request.caller, idFrom(request.params.id))
      return sendStoredFile(request, reply, storage, { file, as: 'attachment' })
    },
  })

  server.get<ById>('/file/thumbnail/:id', {
    onRequest: caller,
    handler: async (request, reply) => {
      const file = await requireFile(storage, request.caller, idFrom(request.params.id))
      return sendFile(request, reply, pictureOf(file, await thumbnailOf(storage, file)))
    },
  })
}

function pictureOf(file: StoredFile, thumbnail: Buffer | undefined): Representation {
  const picture = thumbnail ?? Buffer.from(fallbackPicture(file.extension))
  const sha256 = createHash('sha256').update(picture).digest('hex')
  const name = thumbnail ? 'thumbnail.jpg' : 'thumbnail.svg'
  return {
    sizeBytes: picture.length,
    etag: `"${sha256}"`,
    lastModified: undefined,
    mediaType: thumbnail ? 'image/jpeg' : 'image/svg+xml',
    disposition: contentDisposition('inline', name),
    sha256,
    open: (start, end) => Readable.from([picture.subarray(start, end + 1)]),
  }
}
