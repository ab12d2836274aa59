import { type AddressRules, forbiddenBy, guardAgent, http, https } from '@plinth/kit/runtime'

const TIMEOUT_MS = 5_000

export type Fetched = { type: string; value: unknown }

/** Follows no redirects, and connects only to addresses that the rules for webhooks allow. */
export async function fetchJson(
  address: string,
  rules: AddressRules,
  { maxBytes }: { maxBytes: number },
): Promise<Fetched> {
  const url = new URL(address)
  const isPlain = url.protocol === 'http:'
  if (isPlain && rules.production) throw new Error('The address is not https.')
  const isForbidden = forbiddenBy(rules)
  const agent = isPlain
    ? guardAgent(new http.Agent(), isForbidden)
    : guardAgent(new https.Agent(), isForbidden)
  const { promise, resolve, reject } = Promise.withResolvers<{ type: string; text: string }>()
  const request = (isPlain ? http : https).get(url, {
    agent,
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  request.on('error', reject)
  request.on('response', (response) => {
    const chunks: Buffer[] = []
    let bytes = 0
    if (response.statusCode !== 200)
      request.destroy(new Error(`The address answered ${response.statusCode}.`))
    response.on('error', reject)
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) request.destroy(new Error(`More than ${maxBytes} bytes.`))
      else chunks.push(chunk)
    })
    const type = response.headers['content-type'] ?? ''
    response.on('end', () => resolve({ type, text: Buffer.concat(chunks).toString('utf8') }))
  })
  try {
    const { type, text } = await promise
    return { type, value: JSON.parse(text) }
  } finally {
    agent.destroy()
  }
}
