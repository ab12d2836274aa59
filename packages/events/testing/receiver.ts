import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

type TestScope = { after(work: () => Promise<void> | void): void }

export type Delivered = {
  path: string
  headers: Record<string, string>
  body: string
  id: string
  type: string
}

type Answer = {
  status?: number
  headers?: Record<string, string>
  body?: string
  /** Never answers. */
  hang?: boolean
  /** Starts the reply, and never finishes it. */
  drip?: boolean
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** An application that receives events. It replies with 204 unless `answerWith` says otherwise. */
export async function startReceiver(t: TestScope) {
  const delivered: Delivered[] = []
  let answer: (one: Delivered) => Answer | Promise<Answer> = () => ({})
  let most = 0
  let current = 0
  const server = http.createServer(async (request, response) => {
    current += 1
    most = Math.max(most, current)
    response.once('close', () => {
      current -= 1
    })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const one = {
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body,
      id: String(request.headers['webhook-id']),
      type: JSON.parse(body).type,
    }
    delivered.push(one)
    const { status = 204, headers = {}, body: text = '', hang, drip } = await answer(one)
    if (drip) dripInto(response)
    else if (!hang) response.writeHead(status, headers).end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    /** Everything received, including pings. */
    all: delivered,
    /** Everything received except pings. */
    get delivered() {
      return delivered.filter(({ type }) => type !== 'ping')
    },
    /** The most requests that were open at the same time. */
    get most() {
      return most
    },
    answerWith: (next: typeof answer) => {
      answer = next
    },
  }
}

function dripInto(response: http.ServerResponse): void {
  response.writeHead(200)
  const timer = setInterval(() => response.write('.'), 20)
  response.once('close', () => clearInterval(timer))
}
