import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type TestScope = { after(work: () => Promise<void> | void): void }

export type Reply = { status?: number; body: object }

/** The connection breaks instead of a reply. */
export const CUT: Reply = { body: {} }

type Answer = (query: URLSearchParams, idempotencyKey: string) => Reply | Promise<Reply>

export type Replies = Record<string, Reply | Answer>

const NO_SUCH_PATH: Reply = {
  status: 404,
  body: { error: { type: 'invalid_request_error', message: 'Unrecognized request URL' } },
}

/** A provider that answers only with the given replies. */
export async function startSmallProvider(t: TestScope, replies: Replies) {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    await text(request)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const path = `${request.method} ${pathname}`
    asked.push(path)
    const reply = replies[path] ?? NO_SUCH_PATH
    const key = String(request.headers['idempotency-key'])
    const given = typeof reply === 'function' ? await reply(searchParams, key) : reply
    if (given === CUT) return request.socket.destroy()
    const { status = 200, body } = given
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await once(server.listen(0, 'localhost'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** From now on new connections are refused, and open ones are cut. */
  const leave = () => {
    server.close()
    server.closeAllConnections()
  }
  const comeBack = () => once(server.listen(port, 'localhost'), 'listening')
  return { asked, replies, leave, comeBack, baseUrl: `http://localhost:${port}` }
}
