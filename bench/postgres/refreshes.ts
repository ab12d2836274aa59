import { connect } from 'node:net'
import { createReplyReader } from '../harness/reply-reader.ts'

/** Refreshes sessions repeatedly, each with the token of its last refresh. */
export async function refreshesPerSecond(
  url: string,
  tokens: string[],
  seconds: number,
): Promise<number> {
  const started = performance.now()
  const until = started + seconds * 1000
  let count = 0
  const isOver = () => {
    count += 1
    return performance.now() > until
  }
  const last = await Promise.all(tokens.map((token) => refreshUntil(new URL(url), token, isOver)))
  tokens.splice(0, tokens.length, ...last)
  return count / ((performance.now() - started) / 1000)
}

/** Uses one raw socket, which costs far less than the service. Returns the last token. */
async function refreshUntil({ host, port }: URL, first: string, isOver: () => boolean) {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(Number(port), 'localhost').setNoDelay(true)
  const send = (token: string) => socket.write(requestWith(token, host))
  let received = ''
  const read = createReplyReader((status) => {
    const token = /"refreshToken":"([^"]+)"/.exec(received)?.[1]
    received = ''
    if (status !== 200 || !token) reject(new Error(`A refresh was answered ${status}`))
    else if (isOver()) resolve(token)
    else send(token)
  })
  socket.on('connect', () => send(first)).on('error', reject)
  socket.on('data', (chunk: Buffer) => {
    received += chunk
    read(chunk)
  })
  socket.on('close', () => reject(new Error('The server closed a connection.')))
  return promise.finally(() => socket.destroy())
}

function requestWith(refreshToken: string, host: string): string {
  const body = JSON.stringify({ refreshToken })
  const lines = [
    'POST /api/auth/refresh HTTP/1.1',
    `host: ${host}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
