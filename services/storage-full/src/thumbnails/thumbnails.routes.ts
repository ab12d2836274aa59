import { hash } from 'node:crypto'
import { contentDisposition, fileReplies, type Representation, sendFile } from '@plinth/kit/files'
import { type Guard, IdPath, pathId, type Server } from '@plinth/kit/http'
import { withContent } from '../files/bytes.ts'
import { requireFile } from '../files/files.ts'
import { fileNotFound, fileOfAnotherUser, READ_PROBLEMS } from '../files/problems.ts'
import type { Storage, StoredFile } from '../files/storage.ts'
import { thumbnailsBusy } from './queue.ts'
import { fallbackPicture, type Thumbnails } from './thumbnails.ts'

export function thumbnailRoutes(
  server: Server,
  storage: Storage,
  { caller, thumbnails }: { caller: Guard; thumbnails: Thumbnails },
): void {
  const count = server.metrics.counter({
    name: 'plinth_thumbnails_total',
    help: 'Thumbnails requested: the picture, a placeholder sheet, or why there was none.',
    labels: ['result'],
    known: ['picture', 'sheet', 'busy', 'failed'].map((result) => ({ result })),
  })
  server.get('/file/thumbnail/:id', {
    onRequest: caller,
    schema: {
      operationId: 'thumbnail',
      summary: 'A small picture of a file, or one that shows its type',
      tags: ['Files'],
      params: IdPath,
      response: fileReplies({ mediaTypes: ['image/jpeg', 'image/svg+xml'] }),
      problems: [fileNotFound, fileOfAnotherUser, thumbnailsBusy, ...READ_PROBLEMS],
    },
    handler: async (request, reply) => {
      const file = await requireFile(storage, request.caller, pathId(request.params.id))
      const drawn = withContent(storage, file, (found) =>
        thumbnails.of(found, request.caller.userId),
      )
      const thumbnail = await drawn.catch((error) => {
        count({ result: thumbnailsBusy.is(error) ? 'busy' : 'failed' })
        throw error
      })
      count({ result: thumbnail ? 'picture' : 'sheet' })
      return sendFile(request, reply, pictureOf(file, thumbnail))
    },
  })
}

function pictureOf(file: StoredFile, thumbnail: Buffer | undefined): Representation {
  const picture = thumbnail ?? Buffer.from(fallbackPicture(file.extension))
  const sha256 = hash('sha256', picture)
  const name = thumbnail ? 'thumbnail.jpg' : 'thumbnail.svg'
  return {
    sizeBytes: picture.length,
    etag: `"${sha256}"`,
    lastModified: undefined,
    mediaType: thumbnail ? 'image/jpeg' : 'image/svg+xml',
    disposition: contentDisposition('inline', name),
    sha256,
    open: (start, end) => picture.subarray(start, end + 1),
  }
}
