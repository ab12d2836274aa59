import { malformedRequest } from '../problems.ts'
import type { Server } from './server.ts'

const BODY_DEADLINE_MS = 30_000

/**
 * A body that trickles in holds a connection for nothing. Uploads are exempt: they are as slow as
 * the client's line and watch their own pace.
 */
export function limitBodyTime(server: Server): void {
  server.addHook('preParsing', async (request, _reply, payload) => {
    if (isUpload(request.headers['content-type'])) return payload
    const timer = setTimeout(
      () => request.raw.destroy(malformedRequest({ detail: 'The body took too long to arrive.' })),
      BODY_DEADLINE_MS,
    )
    timer.unref()
    const stop = () => clearTimeout(timer)
    payload.once('end', stop).once('close', stop).once('error', stop)
    return payload
  })
}

function isUpload(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith('multipart/') ?? false
}
