import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

type UnfinishedLogin = { finish(): Promise<number | undefined> }

/** A login whose server waits for the body, which is sent by `finish`; that tells the status. */
export async function beginLogin(baseUrl: string): Promise<UnfinishedLogin> {
  const body = JSON.stringify({ username: 'admin', password: 'password123123' })
  const call = request(`${baseUrl}/api/auth/login`, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  const answered = once(call, 'response') as Promise<[IncomingMessage]>
  answered.catch(() => {}) // It may be cut before anybody waits for it.
  call.flushHeaders()
  await once(call, 'continue')
  const finish = async () => {
    call.end(body)
    const [reply] = await answered
    reply.resume()
    return reply.statusCode
  }
  return { finish }
}
