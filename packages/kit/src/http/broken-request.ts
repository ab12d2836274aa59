import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

const STATUS_OF: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Answers what is not even HTTP; there is no request yet, so no route and no request id. */
export function answerBrokenRequests(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const status = STATUS_OF[error.code ?? ''] ?? 400
  const title = STATUS_CODES[status] ?? 'Bad Request'
  const detail = 'The request could not be read.'
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, code: 'BAD_REQUEST' })
  if (socket.writable)
    socket.write(
      `HTTP/1.1 ${status} ${title}\r\ncontent-type: application/problem+json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
  socket.destroySoon()
}
