import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { S3Settings } from '../../../test/servers/s3.ts'

type FileRequest = { method: string; key: string; bytes: number }
type Decide = (request: FileRequest) => boolean | Promise<boolean>
type Answered = (request: FileRequest) => Promise<void>
type Scope = { after(work: () => Promise<void> | void): void }

/**
 * A proxy in front of a real bucket, which decides whether each request for a file passes. All others
 * pass, including those of a provider's test.
 */
export async function startGate(t: Scope, { endpoint, ...settings }: S3Settings) {
  let [open, decide]: [boolean, Decide] = [true, () => true]
  let answered: Answered = async () => {}
  const server = createServer(async (asked, answer) => {
    if (!open) return void asked.socket.destroy()
    const wanted = fileRequest(asked)
    if (!wanted || (await decide(wanted)))
      await passOn(asked, answer, endpoint, async () => {
        if (wanted) await answered(wanted)
      }).catch(() => void answer.destroy())
    else refuse(asked, answer)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    settings: { ...settings, endpoint: `http://127.0.0.1:${port}` },
    let: (decision: Decide) => {
      decide = decision
    },
    /** Does this work when the store has answered a request for a file, before it is passed on. */
    onAnswer: (work: Answered) => {
      answered = work
    },
    /** Cuts every connection, as if the store were down. */
    close: () => {
      open = false
    },
    reopen: () => {
      open = true
    },
  }
}

function fileRequest({ method = '', url = '', headers }: IncomingMessage) {
  const [, key] = /\/(files-\w+\/(?!probe-)[^?]+)/.exec(url) ?? []
  return key && { method, key, bytes: Number(headers['content-length'] ?? 0) }
}

/** Leaves the headers unchanged, because they are signed. */
async function passOn(
  asked: IncomingMessage,
  answer: ServerResponse,
  endpoint: string,
  onAnswer: () => Promise<void>,
) {
  const { method, url = '', headers } = asked
  const passed = request(new URL(url, endpoint), { method, headers, agent: false })
  const answered = once(passed, 'response') as Promise<[IncomingMessage]>
  await Promise.all([pipeline(asked, passed), answered])
  const [reply] = await answered
  await onAnswer()
  answer.writeHead(reply.statusCode ?? 502, reply.headers)
  await pipeline(reply, answer)
}

function refuse(asked: IncomingMessage, answer: ServerResponse): void {
  asked.resume()
  answer.writeHead(403, { 'content-type': 'application/xml' })
  answer.end('<Error><Code>AccessDenied</Code></Error>')
}
