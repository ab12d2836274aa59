import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { KEY } from './start-storage-key.ts'

type RawReply = { status: number; head: string; body: string }

/** Sends a request exactly as written: an HTTP client would normalise the target. */
export async function rawRequest(
  port: number,
  target: string,
  { method = 'GET', key = KEY as string | null, headers = [] as string[], body = '' } = {},
): Promise<RawReply> {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    ...(key === null ? [] : [`X-API-KEY: ${key}`]),
    ...headers,
  ]
  return exchange(port, `${lines.join('\r\n')}\r\n\r\n${body}`)
}

export async function exchange(port: number, request: string | Buffer): Promise<RawReply> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(request)
  const reply = await text(socket)
  const [head = '', ...rest] = reply.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, body: rest.join('\r\n\r\n') }
}
