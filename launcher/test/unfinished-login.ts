import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

const PATIENCE_MS = 60_000

type Unfinished = { finish(): Promise<number | undefined> }

/** A login whose body is sent by `finish`, which returns the status of the reply. */
export function beginLogin(baseUrl: string): Promise<Unfinished> {
  const login = { username: 'admin', password: 'password123123' }
  return beginPost(`${baseUrl}/api/auth/login`, login)
}

/** The same with another body, for any route. */
export async function beginPost(url: string, json: object): Promise<Unfinished> {
  const body = JSON.stringify(json)
  const call = request(url, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  const answered = once(call, 'response', {
    signal: AbortSignal.timeout(PATIENCE_MS),
  }) as Promise<[IncomingMessage]>
  answered.catch(() => {}) // The connection may be cut before `finish` awaits the reply.
  call.flushHeaders()
  await once(call, 'continue', { signal: AbortSignal.timeout(PATIENCE_MS) })
  const finish = async () => {
    call.end(body)
    const [reply] = await answered
    reply.resume()
    return reply.statusCode
  }
  return { finish }
}
