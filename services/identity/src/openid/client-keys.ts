import { type AddressRules, isRecent, secondsAfter } from '@plinth/kit/runtime'
import type { Client } from '../database/clients.repository.ts'
import { fetchJson } from './fetched-json.ts'
import type { OpenId } from './openid.ts'
import { clientInvalid } from './problems.ts'

const MAX_BYTES = 65_536
const KEPT_SECONDS = 60
/** How soon keys are fetched again for an assertion that none of them has signed, or after a failure. */
const COOLDOWN_SECONDS = 10
const MAX_KEPT = 1_000

type Kept = { fetchedAt: Date; keys: Promise<object> }

const kept = new WeakMap<OpenId['accounts'], Map<string, Kept>>()

/** The keys a client signs its assertions with. Those at an address are kept for a minute. */
export async function keysOf(openid: OpenId, { jwks, jwksUri }: Client): Promise<object> {
  if (jwksUri === null) return jwks ?? { keys: [] }
  const known = cacheOf(openid).get(jwksUri)
  return known && isRecent(known.fetchedAt, KEPT_SECONDS, openid.clock())
    ? known.keys
    : fetchAndKeep(openid, jwksUri)
}

/** The client may have new keys: those at its address now, unless they were fetched a moment ago. */
export async function newerKeysOf(
  openid: OpenId,
  { jwksUri }: Client,
): Promise<object | undefined> {
  const known = jwksUri === null ? undefined : cacheOf(openid).get(jwksUri)
  if (jwksUri === null || (known && isRecent(known.fetchedAt, COOLDOWN_SECONDS, openid.clock())))
    return undefined
  return fetchAndKeep(openid, jwksUri)
}

function fetchAndKeep(openid: OpenId, jwksUri: string): Promise<object> {
  const cache = cacheOf(openid)
  const now = openid.clock()
  const keys = fetchKeys(jwksUri, openid.addresses).catch((cause: unknown) => {
    // Not for as long as keys are kept: the client may be back in a moment.
    const fetchedAt = secondsAfter(now, COOLDOWN_SECONDS - KEPT_SECONDS)
    if (cache.get(jwksUri)?.keys === keys) cache.set(jwksUri, { fetchedAt, keys })
    throw clientInvalid({ cause, detail: 'The keys of the client could not be fetched.' })
  })
  cache.delete(jwksUri)
  cache.set(jwksUri, { fetchedAt: now, keys })
  const [oldest] = cache.size > MAX_KEPT ? cache.keys() : []
  if (oldest !== undefined) cache.delete(oldest)
  return keys
}

function cacheOf({ accounts }: OpenId): Map<string, Kept> {
  const known = kept.get(accounts) ?? new Map<string, Kept>()
  kept.set(accounts, known)
  return known
}

async function fetchKeys(address: string, rules: AddressRules): Promise<object> {
  const { value } = await fetchJson(address, rules, { maxBytes: MAX_BYTES })
  if (typeof value !== 'object' || value === null) throw new Error('The keys are not an object.')
  return value
}
