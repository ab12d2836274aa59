import type { AddressRules } from '@plinth/kit/runtime'
import { forbiddenBy, guardAgent, http, https, isAhead, secondsAfter } from '@plinth/kit/runtime'
import type { Client } from '../database/clients.repository.ts'
import type { OpenId } from './openid.ts'
import { clientInvalid } from './problems.ts'

const MAX_BYTES = 65_536
const TIMEOUT_MS = 5_000
const KEPT_SECONDS = 60
const MAX_KEPT = 1_000

type Kept = { until: Date; keys: Promise<object> }

const kept = new WeakMap<OpenId, Map<string, Kept>>()

/** The keys a client signs its assertions with. Those at an address are fetched at most once a minute. */
export async function keysOf(openid: OpenId, { jwks, jwksUri }: Client): Promise<object> {
  if (jwksUri === null) return jwks ?? { keys: [] }
  const cache = cacheOf(openid)
  const known = cache.get(jwksUri)
  if (known && isAhead(known.until, KEPT_SECONDS, openid.clock())) return known.keys
  const keys = fetchKeys(jwksUri, openid.addresses).catch((cause: unknown) => {
    throw clientInvalid({ cause, detail: 'The keys of the client could not be fetched.' })
  })
  cache.delete(jwksUri)
  cache.set(jwksUri, { until: secondsAfter(openid.clock(), KEPT_SECONDS), keys })
  const [oldest] = cache.size > MAX_KEPT ? cache.keys() : []
  if (oldest !== undefined) cache.delete(oldest)
  return keys
}

function cacheOf(openid: OpenId): Map<string, Kept> {
  const known = kept.get(openid) ?? new Map<string, Kept>()
  kept.set(openid, known)
  return known
}

/** Follows no redirects, and connects only to addresses that the rules for webhooks allow. */
async function fetchKeys(address: string, rules: AddressRules): Promise<object> {
  const url = new URL(address)
  const isPlain = url.protocol === 'http:'
  if (isPlain && rules.production) throw new Error('The address is not https.')
  const isForbidden = forbiddenBy(rules)
  const agent = isPlain
    ? guardAgent(new http.Agent(), isForbidden)
    : guardAgent(new https.Agent(), isForbidden)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const request = (isPlain ? http : https).get(url, {
    agent,
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
      if (bytes > MAX_BYTES) request.destroy(new Error('The keys are too large.'))
      else chunks.push(chunk)
    })
    response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
  })
  try {
    const keys: unknown = JSON.parse(await promise)
    if (typeof keys !== 'object' || keys === null) throw new Error('The keys are not an object.')
    return keys
  } finally {
    agent.destroy()
  }
}
