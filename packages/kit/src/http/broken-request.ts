import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

const STATUS_OF: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

const DETAIL = 'The request could not be read.'

export type BrokenRequestRenderer = (
  status: number,
  detail: string,
) => { type: string; body: string }

/** Answers what is not even HTTP; there is no request yet, so no route and no request id. */
export function answerBrokenRequests(render: BrokenRequestRenderer = renderBrokenRequest) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    const status = STATUS_OF[error.code ?? ''] ?? 400
    const { type, body } = render(status, DETAIL)
    if (socket.writable)
      socket.write(
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${type}\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      )
    socket.destroySoon()
  }
}

const renderBrokenRequest: BrokenRequestRenderer = (status, detail) => {
  const title = STATUS_CODES[status]
  const body = { type: 'about:blank', title, status, detail, code: 'BAD_REQUEST' }
  return { type: 'application/problem+json', body: JSON.stringify(body) }
}
