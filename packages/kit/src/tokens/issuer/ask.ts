import type { IncomingMessage } from 'node:http'
import { http, https } from '../../runtime/networks.ts'
import { traceHeaders } from '../../tracing/trace-context.ts'

type IssuerRequest = { method?: 'POST'; headers?: Record<string, string>; body?: string }

const TIMEOUT_MS = 3_000
const MAX_REPLY_BYTES = 64 * 1024

/**
 * Requests JSON from an issuer, bounded in time and size, without following redirects. Does not use
 * `fetch`, which would take 15 MB in every service for an occasional request.
 */
export async function askIssuer(
  url: string,
  { method, headers, body }: IssuerRequest = {},
): Promise<{ status: number; reply: Record<string, unknown> }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const request = (url.startsWith('https:') ? https : http).request(url, {
    method,
    headers: { accept: 'application/json', ...headers, ...traceHeaders() },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  request.once('response', resolve).once('error', reject).end(body)
  const response = await promise
  return { status: response.statusCode ?? 0, reply: JSON.parse(await boundedText(response)) }
}

async function boundedText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response) {
    length += chunk.length
    if (length > MAX_REPLY_BYTES) throw new Error("The issuer's answer is too large.")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
