import { once } from 'node:events'
import type * as nodeHttp from 'node:http'
import { forbiddenBy, guardAgent, http, https } from '@plinth/kit/runtime'
import type { Surroundings } from '../../state/sandbox.ts'
import type { Attempt } from './deliveries.repository.ts'
import { isTrusted } from './endpoints.ts'

export type Sender = {
  /** A failure to connect is a result to record, not an exception. */
  send(url: string, request: Attempt['request'], signal: AbortSignal): Promise<Sent>
  close(): void
}

export type Sent = Pick<Attempt, 'response' | 'error' | 'milliseconds'>

/** Posts to endpoints and follows no redirects. An address that is not trusted is checked at each connection. */
export function createSender(sandbox: Surroundings): Sender {
  const isForbidden = forbiddenBy(sandbox.config.addresses)
  const trusted = agents(() => false)
  const guarded = agents(isForbidden)
  const send: Sender['send'] = async (url, request, signal) => {
    const started = performance.now()
    const milliseconds = () => Math.round(performance.now() - started)
    const agentsOf = isTrusted(sandbox, url) ? trusted : guarded
    try {
      return {
        response: await post(url, request, agentsOf, signal),
        error: null,
        milliseconds: milliseconds(),
      }
    } catch (error) {
      return { response: null, error: reasonOf(error), milliseconds: milliseconds() }
    }
  }
  const close = () => {
    for (const { plain, tls } of [trusted, guarded]) {
      plain.destroy()
      tls.destroy()
    }
  }
  return { send, close }
}

type Agents = ReturnType<typeof agents>

function agents(isForbidden: (address: string) => boolean) {
  const options = { keepAlive: true }
  return {
    plain: guardAgent(new http.Agent(options), isForbidden),
    tls: guardAgent(new https.Agent(options), isForbidden),
  }
}

async function post(
  url: string,
  { headers, body }: Attempt['request'],
  { plain, tls }: Agents,
  signal: AbortSignal,
): Promise<Attempt['response']> {
  const isPlain = url.startsWith('http:')
  const request = (isPlain ? http : https).request(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    agent: isPlain ? plain : tls,
    signal,
  })
  request.end(body)
  const [reply] = (await once(request, 'response')) as [nodeHttp.IncomingMessage]
  return {
    status: reply.statusCode ?? 0,
    headers: Object.fromEntries(
      Object.entries(reply.headers).map(([name, value]) => [name, String(value)]),
    ),
    body: await startOfBody(reply),
  }
}

const MAX_KEPT = 16_384

/** Reads no further: a receiver may send more than there is memory for. */
async function startOfBody(reply: nodeHttp.IncomingMessage): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of reply) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length >= MAX_KEPT) break
  }
  return text.slice(0, MAX_KEPT)
}

function reasonOf(error: unknown): string {
  const { code, message, cause } = error as NodeJS.ErrnoException
  if (cause instanceof Error) return cause.message
  return code === 'ForbiddenAddress' ? 'the address is not on the internet' : message || `${code}`
}
