import { createPublicKey, type KeyObject } from 'node:crypto'
import { defineProblem } from '../problems.ts'
import { type Clock, secondsAfter } from '../runtime/clock.ts'
import {
  type AccessTokenVerifier,
  createAccessTokenVerifier,
  type VerificationKeys,
} from './access-token.ts'
import type { PublicJwk } from './signing-keys.ts'

export type RemoteIssuer = {
  /** The issuer's address, as it stands in `iss`; its keys are at `/.well-known/jwks.json` below. */
  issuer: string
  audience: string
  clock: Clock
}

/** Its tokens may be good, so they are not refused: the caller is asked to come again. */
const issuerUnavailable = defineProblem(
  'ISSUER_UNAVAILABLE',
  503,
  'The issuer of this token cannot be reached to check it.',
  { headers: { 'retry-after': '5' } },
)

const MAX_AGE_SECONDS = 600

const COOLDOWN_SECONDS = 10

const TIMEOUT_MS = 3000

const MAX_KEY_SET_BYTES = 64 * 1024

/** Accepts the access tokens of another service, checked against the keys that it publishes. */
export function createRemoteIssuer(remote: RemoteIssuer): AccessTokenVerifier {
  return createAccessTokenVerifier(remote, remoteKeys(remote))
}

/**
 * Keeps the published keys and asks again when they are old or when a token names an unknown one,
 * but never more than once per cooldown: made-up key ids cannot turn this service against the
 * issuer. When the issuer is down the keys already known stay good.
 */
function remoteKeys({ issuer, clock }: RemoteIssuer): VerificationKeys {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`
  let keys: Map<string, KeyObject> | undefined
  let staleAt = clock()
  let askAgainAt = clock()
  let asking: Promise<void> | undefined

  async function ask(): Promise<void> {
    try {
      keys = keepKnown(await fetchKeys(url), keys)
      staleAt = secondsAfter(clock(), MAX_AGE_SECONDS)
    } catch (cause) {
      if (!keys) throw issuerUnavailable({ cause })
    }
  }

  async function askOnce(): Promise<void> {
    if (!asking && clock() < askAgainAt) return
    askAgainAt = keys ? secondsAfter(clock(), COOLDOWN_SECONDS) : clock()
    asking ??= ask().finally(() => {
      asking = undefined
    })
    await asking
  }

  return {
    async find(kid) {
      const known = keys?.get(kid)
      if (known && clock() < staleAt) return known
      await askOnce()
      return keys?.get(kid)
    },
  }
}

/** An unchanged key stays the same object: verified tokens are remembered by it. */
function keepKnown(
  fetched: Map<string, PublicJwk>,
  known: Map<string, KeyObject> = new Map(),
): Map<string, KeyObject> {
  return new Map(
    [...fetched].map(([kid, jwk]) => {
      const key = createPublicKey({ key: jwk, format: 'jwk' })
      const before = known.get(kid)
      return [kid, before?.equals(key) ? before : key]
    }),
  )
}

async function fetchKeys(url: string): Promise<Map<string, PublicJwk>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const response = await fetch(url, { signal, redirect: 'error' })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  const set = JSON.parse(await boundedText(response)) as { keys?: unknown }
  if (!Array.isArray(set.keys)) throw new Error(`${url} is not a key set`)
  const usable = (set.keys as PublicJwk[]).filter(isSigningKey)
  return new Map(usable.map((jwk) => [String(jwk.kid), jwk]))
}

function isSigningKey(jwk: PublicJwk): boolean {
  return jwk?.kty === 'EC' && jwk.crv === 'P-256' && typeof jwk.kid === 'string' && !jwk.d
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_KEY_SET_BYTES) throw new Error('The key set is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
