import type { IncomingMessage } from 'node:http'
import { http, https } from '../../runtime/networks.ts'
import { traceHeaders } from '../../tracing/trace-context.ts'

type Question = { method?: 'POST'; headers?: Record<string, string>; body?: string }

const TIMEOUT_MS = 3_000
const LONGEST_REPLY_BYTES = 64 * 1024

/**
 * Asks an issuer for JSON, bounded in time and size; no redirect is followed. Without `fetch`, which
 * would take 15 MB in every service that asks now and then.
 */
export async function askIssuer(
  url: string,
  { method, headers, body }: Question = {},
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
    if (length > LONGEST_REPLY_BYTES) throw new Error('The answer of the issuer is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
