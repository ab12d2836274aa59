import { contentDisposition, type Reply, type Request, sendFile } from '@plinth/kit'
import { openBytes } from './file-bytes.ts'
import type { Storage } from './storage.ts'
import type { StoredFile } from './stored-file.ts'

type Sending = { file: StoredFile; as: 'inline' | 'attachment'; cacheControl?: string }

/** The one way a file's bytes leave: for its owner, and for whoever holds a link to it. */
export function sendStoredFile(
  request: Request,
  reply: Reply,
  storage: Storage,
  { file, as, cacheControl }: Sending,
): Promise<Reply> {
  return sendFile(request, reply, {
    sizeBytes: file.sizeBytes,
    etag: `"${file.checksumSha256}"`,
    lastModified: new Date(file.createdAt),
    mediaType: file.contentType === 'text/plain' ? 'text/plain; charset=utf-8' : file.contentType,
    disposition: contentDisposition(as, file.originalFilename),
    sha256: file.checksumSha256,
    cacheControl,
    open: (start, end) => openBytes(storage, file, { start, end }),
  })
}
