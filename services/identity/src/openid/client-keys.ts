import { type AddressRules, isAhead, secondsAfter } from '@plinth/kit/runtime'
import type { Client } from '../database/clients.repository.ts'
import { fetchJson } from './fetched-json.ts'
import type { OpenId } from './openid.ts'
import { clientInvalid } from './problems.ts'

const MAX_BYTES = 65_536
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

async function fetchKeys(address: string, rules: AddressRules): Promise<object> {
  const { value } = await fetchJson(address, rules, { maxBytes: MAX_BYTES })
  if (typeof value !== 'object' || value === null) throw new Error('The keys are not an object.')
  return value
}
