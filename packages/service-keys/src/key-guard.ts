import {
  type Access,
  type Caller,
  eitherAccess,
  type Guard,
  guarding,
  logOf,
  type Request,
} from '@plinth/kit/http'
import { accessDenied, accessTokenRejected, callerUnknown } from '@plinth/kit/problems'
import {
  type Clock,
  clientNetwork,
  isRecent,
  MAX_CLOCK_SKEW_SECONDS,
  networkMatcher,
  secondsAfter,
} from '@plinth/kit/runtime'
import {
  type ClientTokenClaims,
  type ClientTokens,
  hashOpaqueToken,
  looksLikeClientToken,
} from '@plinth/kit/tokens'
import { isKeyText, looksLikeKey } from './key-text.ts'
import { MAX_COUNTS, MAX_FAILURES, WINDOW_SECONDS } from './limits.ts'
import {
  insufficientScope,
  keyInBrowser,
  keyRejected,
  scopeMissing,
  tooManyKeyFailures,
} from './problems.ts'
import {
  findServiceKey,
  findServiceKeyByHash,
  type ServiceKey,
  updateServiceKeyUsed,
} from './service-keys.repository.ts'
import { isInForce, keyCaller, namedKey, type ServiceKeys } from './service-keys.ts'

const RECORD_USE_EVERY_SECONDS = 60
const SCHEME = /^bearer +/i
const NOT_OURS =
  'This token is for programs that call its issuer. Send a service key of this service instead.'
const NEEDS_KEY = 'This needs a service key: send it as "Authorization: Bearer <key>".'

export type KeyCaller = Caller & { keyId: number; scopes: string[]; allowedCidrs: string[] }

/** `S` are the scopes that the service has. */
export type KeyGuard<S extends string = string> = {
  /** Returns the caller that a key authenticates, or throws a problem: 401, 403 or 429. */
  authenticate(request: Request, text: string): Promise<KeyCaller>
  /** A guard that requires a key with this scope in `Authorization: Bearer`. */
  scope(name: S): Guard
  /** Like `scope` for a service key; any other token is left to the other guard. */
  or(scope: S, other: Guard): Guard
}

type Options = {
  allowedOrigins?: string[]
  /** The tokens that this service issues for its keys, if it does. */
  clientTokens?: () => Pick<ClientTokens, 'verify'>
}

/** Every request looks the key up, so a key revoked on one node is refused on all of them. */
export function serviceKeyGuard<S extends string>(
  keys: ServiceKeys<S>,
  { allowedOrigins = [], clientTokens }: Options = {},
): KeyGuard<S> {
  const limited = limitFailures(keys.clock)
  const refusals = countsByWindow()
  const recordedUses = new Map<number, number>()

  const authenticate = async (request: Request, text: string): Promise<KeyCaller> => {
    const key = await limited(clientNetwork(request.ip), () => acceptedKey(request, text))
    return callerWith(request, key)
  }

  const callerWith = async (request: Request, key: ServiceKey): Promise<KeyCaller> => {
    if (!isFromServer(request, allowedOrigins)) throw keyInBrowser()
    await recordUse(key, request, keys.clock())
    return callerOf(key)
  }

  const authenticateToken = async (request: Request, token: string): Promise<KeyCaller> => {
    if (!clientTokens) throw accessTokenRejected({ detail: NOT_OURS })
    const key = await keyOfToken(keys, await clientTokens().verify(token), request.ip)
    return callerWith(request, key)
  }

  const acceptedKey = async (request: Request, text: string): Promise<ServiceKey> => {
    const now = keys.clock()
    const key = isKeyText(text)
      ? await findServiceKeyByHash(keys.db, hashOpaqueToken(text))
      : undefined
    if (key && isInForce(key, now) && mayComeFrom(key, request.ip)) return key
    if (key) await recordRefusal(request, key, now)
    throw keyRejected()
  }

  /** Records one refusal a minute for each key and network; an unknown key is not recorded. */
  const recordRefusal = async ({ ip, id }: Request, key: ServiceKey, now: Date) => {
    if (refusals.add(`${clientNetwork(ip)} ${key.id}`, now) > 1) return
    await keys.record(keys.db, {
      event: 'SERVICE_KEY_REFUSED',
      actor: null,
      ...namedKey(key),
      origin: { address: ip, requestId: id },
    })
  }

  // At most one write per minute and node, however often a key is used. The request must not fail
  // because this write does, as on a full disk.
  const recordUse = async ({ id, lastUsedAt }: ServiceKey, request: Request, at: Date) => {
    const recorded = new Date(Math.max(recordedUses.get(id) ?? 0, lastUsedAt?.getTime() ?? 0))
    // Another node, whose clock may be a little ahead, has perhaps recorded it.
    const soon = secondsAfter(at, MAX_CLOCK_SKEW_SECONDS)
    if (isRecent(recorded, RECORD_USE_EVERY_SECONDS + MAX_CLOCK_SKEW_SECONDS, soon)) return
    recordedUses.set(id, at.getTime())
    await updateServiceKeyUsed(keys.db, id, { at, address: request.ip }).catch((err) => {
      const message = 'the use of a service key could not be recorded'
      logOf(request).outages.failed({ state: 'use of service keys', message, err })
    })
  }

  const scope = (name: string): Guard =>
    guarding(accessWith(name), async (request) => {
      const { authorization } = request.headers
      if (authorization === undefined) throw callerUnknown({ detail: NEEDS_KEY })
      const text = authorization.replace(SCHEME, '').trim()
      const isToken = looksLikeClientToken(text)
      const caller = await (isToken ? authenticateToken : authenticate)(request, text)
      request.caller = caller
      if (!caller.scopes.includes(name)) throw insufficientScope(name)
    })
  const or = (name: string, other: Guard): Guard => {
    const key = scope(name)
    return guarding(eitherAccess(key, other), (request) =>
      sendsKey(request) ? key(request) : other(request),
    )
  }
  return { authenticate, scope, or }
}

/** How the audit names a caller. The name of a key alone would be ambiguous: a user may have the same one. */
export function nameInAudit(caller: Caller): string {
  const { keyId: id, username: name } = caller as Caller & Partial<KeyCaller>
  return id === undefined ? name : namedKey({ id, name }).subject
}

/** Calls `record` whenever a user lacks the role or a key lacks the scope. */
export function onDenial(guard: Guard, record: (request: Request) => Promise<void>): Guard {
  return guarding(guard.access, async (request) => {
    try {
      await guard(request)
    } catch (error) {
      if (accessDenied.is(error) || scopeMissing.is(error)) await record(request)
      throw error
    }
  })
}

/** The problems that `authenticate` throws. */
export const KEY_PROBLEMS = [keyRejected, keyInBrowser, tooManyKeyFailures]

/** For the API document. */
function accessWith(scope: string): Access {
  const description = `A service key with the scope ${scope}`
  const name = `serviceKey-${scope.replace(':', '-')}`
  return {
    schemes: { [name]: { type: 'http', scheme: 'bearer', description } },
    problems: [callerUnknown, accessTokenRejected, scopeMissing, ...KEY_PROBLEMS],
  }
}

/** A key, or a token that was issued for one. */
function sendsKey({ headers: { authorization = '' } }: Request): boolean {
  const text = authorization.replace(SCHEME, '').trim()
  return SCHEME.test(authorization) && (looksLikeKey(text) || looksLikeClientToken(text))
}

function mayComeFrom({ allowedCidrs }: ServiceKey, address: string): boolean {
  return allowedCidrs.length === 0 || networkMatcher(allowedCidrs)(address)
}

/** Browsers send `Origin`, servers do not. Our own console is the exception. */
function isFromServer(request: Request, allowedOrigins: string[]): boolean {
  const { origin } = request.headers
  if (origin === undefined || allowedOrigins.includes(origin)) return true
  return origin === new URL(request.server.baseUrlOf(request)).origin
}

/** A token grants what both it and its key do. */
async function keyOfToken(
  { db, clock }: ServiceKeys,
  claims: ClientTokenClaims | undefined,
  address: string,
): Promise<ServiceKey> {
  const key = claims && (await findServiceKey(db, claims.keyId))
  if (!key || !isInForce(key, clock()) || !mayComeFrom(key, address)) throw accessTokenRejected()
  return { ...key, scopes: key.scopes.filter((name) => claims.scopes.includes(name)) }
}

function callerOf(key: ServiceKey): KeyCaller {
  const { id: keyId, name: username, scopes, allowedCidrs } = key
  const userId = keyCaller(key)
  return { userId, username, roles: [], sessionId: '', keyId, scopes, allowedCidrs }
}

/** The attempts of one network: how many are open, how many are being decided, and the waiting ones. */
type Attempts = { open: number; running: number; waiting: (() => void)[] }

/**
 * Refuses a network after `MAX_FAILURES` bad keys in a window: an IPv4 address or an IPv6 /64. No wider one,
 * because good keys are refused as well, and at a hosting provider the neighbours in a /48 are strangers. An
 * attempt counts as a failure until it is decided, or many concurrent ones would all pass; those beyond the limit
 * wait for a decision.
 */
function limitFailures(clock: Clock) {
  const failures = countsByWindow()
  const byNetwork = new Map<string, Attempts>()

  const begin = async (network: string, attempts: Attempts) => {
    while (true) {
      const { count, secondsLeft } = failures.of(network, clock())
      if (count >= MAX_FAILURES)
        throw tooManyKeyFailures({ headers: { 'retry-after': String(secondsLeft) } })
      if (count + attempts.running < MAX_FAILURES) return
      await new Promise<void>((resolve) => attempts.waiting.push(resolve))
    }
  }

  const decide = async <T>(
    network: string,
    attempts: Attempts,
    look: () => Promise<T>,
  ): Promise<T> => {
    attempts.running++
    try {
      return await look()
    } catch (error) {
      if (keyRejected.is(error)) failures.add(network, clock())
      throw error
    } finally {
      attempts.running--
    }
  }

  return async <T>(network: string, look: () => Promise<T>): Promise<T> => {
    const attempts = byNetwork.get(network) ?? { open: 0, running: 0, waiting: [] }
    byNetwork.set(network, attempts)
    attempts.open++
    try {
      await begin(network, attempts)
      return await decide(network, attempts, look)
    } finally {
      attempts.open--
      attempts.waiting.shift()?.()
      if (attempts.open === 0) byNetwork.delete(network)
    }
  }
}

/** Counts by name within a time window. Beyond `MAX_COUNTS` names the oldest are dropped. */
function countsByWindow() {
  const counts = new Map<string, { since: number; count: number }>()
  const current = (name: string, now: Date) => {
    const known = counts.get(name)
    return known && isRecent(new Date(known.since), WINDOW_SECONDS, now) ? known : undefined
  }
  return {
    /** `secondsLeft` is how long the window still lasts. */
    of(name: string, now: Date): { count: number; secondsLeft: number } {
      const { count, since } = current(name, now) ?? { count: 0, since: now.getTime() }
      const leftMs = since + WINDOW_SECONDS * 1000 - now.getTime()
      return { count, secondsLeft: Math.ceil(leftMs / 1000) }
    },
    add(name: string, now: Date): number {
      const known = current(name, now) ?? { since: now.getTime(), count: 0 }
      counts.delete(name)
      counts.set(name, { ...known, count: known.count + 1 })
      const [oldest] = counts.size > MAX_COUNTS ? counts.keys() : []
      if (oldest !== undefined) counts.delete(oldest)
      return known.count + 1
    },
  }
}
