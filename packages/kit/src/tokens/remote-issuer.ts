import type { webcrypto } from 'node:crypto'
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { issuerUnavailable } from '../problems.ts'
import { type Clock, isAhead, secondsAfter } from '../runtime/clock.ts'
import {
  type AcceptsHeader,
  type AccessTokenVerifier,
  createAccessTokenVerifier,
  type VerificationKeys,
} from './access-token.ts'
import { askIssuer } from './issuer/ask.ts'

type RemoteIssuer = {
  /** The issuer's URL, as in `iss`; its keys are at `/.well-known/jwks.json` below. */
  issuer: string
  /** Where this service reaches the issuer, if not at that URL. */
  address?: string
  audience: string
  clock: Clock
  /** Whether the `typ` of the issuer's access tokens is plain `JWT`, as with many older issuers. */
  plainJwt?: boolean
}

/** Accepts access tokens of another service, checked against the keys that it publishes. */
export function createRemoteIssuer(remote: RemoteIssuer): AccessTokenVerifier {
  const acceptsHeader = headerRule(remote.plainJwt ? ['at+jwt', 'jwt'] : ['at+jwt'])
  return createAccessTokenVerifier({ ...remote, acceptsHeader }, remoteKeys(remote))
}

/** Public keys only: with a symmetric algorithm, everyone who can verify tokens could also sign them. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']

const MAX_KEY_ID = 256

/** RFC 9068: the type keeps other JWTs of the issuer, such as ID tokens, from being used here. */
function headerRule(types: string[]): AcceptsHeader {
  return ({ alg = '', typ, kid, crit }) =>
    ALGORITHMS.includes(alg) &&
    typeof typ === 'string' &&
    types.includes(typ.toLowerCase().replace(/^application\//, '')) &&
    (kid === undefined || (typeof kid === 'string' && kid.length <= MAX_KEY_ID)) &&
    crit === undefined
}

const MAX_AGE_SECONDS = 600

const COOLDOWN_SECONDS = 10

/**
 * Caches the published keys and fetches them again when they are stale or a token names an unknown one,
 * but at most once per cooldown, so that made-up key ids cannot make this service flood the issuer.
 * While the issuer is down, the keys already known stay valid.
 */
function remoteKeys({ issuer, address = issuer, clock }: RemoteIssuer): VerificationKeys {
  let keys: Awaited<ReturnType<typeof publishedKeys>> | undefined
  let staleAt = clock()
  let askAgainAt = clock()
  let asking: Promise<void> | undefined

  async function ask(): Promise<void> {
    try {
      keys = await publishedKeys(address)
      staleAt = secondsAfter(clock(), MAX_AGE_SECONDS)
    } catch (cause) {
      if (!keys) throw issuerUnavailable({ cause })
    }
  }

  async function askOnce(): Promise<void> {
    if (!asking && isAhead(askAgainAt, COOLDOWN_SECONDS, clock())) return
    askAgainAt = keys ? secondsAfter(clock(), COOLDOWN_SECONDS) : clock()
    asking ??= ask().finally(() => {
      asking = undefined
    })
    await asking
  }

  /**
   * Ignores keys that cannot be used, because they are private, malformed or too short. A token without
   * a key id matches if exactly one key fits its algorithm.
   */
  async function find(kid: string | undefined, alg: string) {
    const key = await keys?.({ alg, kid }).catch(() => undefined)
    return key && isLongEnough(key) ? key : undefined
  }

  return {
    async find(kid, algorithm) {
      const known = await find(kid, algorithm)
      if (known && isAhead(staleAt, MAX_AGE_SECONDS, clock())) return known
      await askOnce()
      return find(kid, algorithm)
    },
  }
}

const MIN_RSA_BITS = 2048

function isLongEnough({ algorithm }: webcrypto.CryptoKey): boolean {
  const { modulusLength = MIN_RSA_BITS } = algorithm as { modulusLength?: number }
  return modulusLength >= MIN_RSA_BITS
}

/** jose's own remote key set is no use here: it reloads by the system clock and not by ours. */
async function publishedKeys(issuer: string) {
  const { status, reply } = await askIssuer(`${issuer.replace(/\/$/, '')}/.well-known/jwks.json`)
  if (status !== 200) throw new Error(`The issuer answered ${status} instead of its keys.`)
  return createLocalJWKSet(reply as unknown as JSONWebKeySet)
}
