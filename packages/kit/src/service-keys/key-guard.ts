import { type Caller, type Guard, guarding, type Request } from '../http/framework.ts'
import { type Access, eitherAccess } from '../http/routes/operations.ts'
import { accessDenied, callerUnknown } from '../problems.ts'
import type { Clock } from '../runtime/clock.ts'
import { networkMatcher } from '../runtime/networks.ts'
import { hashOpaqueToken } from '../tokens/opaque-token.ts'
import { isKeyText, looksLikeKey } from './key-text.ts'
import {
  insufficientScope,
  keyInBrowser,
  keyRejected,
  scopeMissing,
  tooManyKeyFailures,
} from './problems.ts'
import {
  findServiceKeyByHash,
  type ServiceKey,
  updateServiceKeyUsed,
} from './service-keys.repository.ts'
import { isInForce, keyCaller, namedKey, type ServiceKeys } from './service-keys.ts'

const MOST_FAILURES = 30
const WINDOW_SECONDS = 60
const MOST_COUNTS = 10_000
const NOTE_USE_EVERY_MS = 60_000
const SCHEME = /^bearer +/i
const NEEDS_KEY = 'This needs a service key: send it as "Authorization: Bearer <key>".'

export type KeyCaller = Caller & { keyId: number; scopes: string[]; allowedCidrs: string[] }

export type KeyGuard = {
  /** The caller that a key speaks for, or a problem: 401, 403 or 429. */
  authenticate(request: Request, text: string): Promise<KeyCaller>
  /** A guard that wants a key with this scope in `Authorization: Bearer`. */
  scope(name: string): Guard
  /** The same for a service key; for any other token it is the other guard. */
  or(scope: string, other: Guard): Guard
}

/** Every use looks the key up, so a key that is revoked on one node is refused on all of them. */
export function serviceKeyGuard(
  keys: ServiceKeys,
  { allowedOrigins = [] }: { allowedOrigins?: string[] } = {},
): KeyGuard {
  const tries = limitFailures(keys.clock)
  const refusals = countsByWindow()
  const notedUses = new Map<number, number>()

  const authenticate = async (request: Request, text: string): Promise<KeyCaller> => {
    const key = await tries(request.ip, () => acceptedKey(request, text))
    if (!isFromServer(request, allowedOrigins)) throw keyInBrowser()
    await noteUse(key, request.ip, keys.clock())
    return callerOf(key)
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

  /** One row a minute for each key and address; a key that does not exist leaves none. */
  const recordRefusal = async ({ ip, id }: Request, key: ServiceKey, now: Date) => {
    if (refusals.add(`${ip} ${key.id}`, now) > 1) return
    await keys.record(keys.db, {
      event: 'SERVICE_KEY_REFUSED',
      actor: null,
      ...namedKey(key),
      origin: { address: ip, requestId: id },
    })
  }

  // At most one write a minute and node, however often a key is used. A use must not fail because
  // its note does, as on a full disk.
  const noteUse = async ({ id, lastUsedAt }: ServiceKey, address: string, at: Date) => {
    const noted = Math.max(notedUses.get(id) ?? 0, lastUsedAt?.getTime() ?? 0)
    if (at.getTime() - noted < NOTE_USE_EVERY_MS) return
    notedUses.set(id, at.getTime())
    await updateServiceKeyUsed(keys.db, id, { at, address }).catch(() => {})
  }

  const scope = (name: string): Guard =>
    guarding(accessWith(name), async (request) => {
      const { authorization } = request.headers
      if (authorization === undefined) throw callerUnknown({ detail: NEEDS_KEY })
      const caller = await authenticate(request, authorization.replace(SCHEME, '').trim())
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

/** Calls `record` for every user without the role, and every key without the scope. */
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

/** What `authenticate` refuses with. */
export const KEY_PROBLEMS = [keyRejected, keyInBrowser, tooManyKeyFailures]

/** For the API document. */
function accessWith(scope: string): Access {
  const description = `A service key with the scope ${scope}`
  const name = `serviceKey-${scope.replace(':', '-')}`
  return {
    schemes: { [name]: { type: 'http', scheme: 'bearer', description } },
    problems: [callerUnknown, scopeMissing, ...KEY_PROBLEMS],
  }
}

function sendsKey({ headers: { authorization = '' } }: Request): boolean {
  return SCHEME.test(authorization) && looksLikeKey(authorization.replace(SCHEME, ''))
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

function callerOf(key: ServiceKey): KeyCaller {
  const { id: keyId, name: username, scopes, allowedCidrs } = key
  const userId = keyCaller(key)
  return { userId, username, roles: [], sessionId: '', keyId, scopes, allowedCidrs }
}

/** The tries of one address: how many have come, how many are being decided, and who waits. */
type Tries = { open: number; running: number; waiting: (() => void)[] }

/**
 * Refuses an address after `MOST_FAILURES` bad keys in a window. A try counts as a failure until it is
 * decided, or many at the same time would all pass; those beyond the limit wait for the decision.
 */
function limitFailures(clock: Clock) {
  const failures = countsByWindow()
  const byAddress = new Map<string, Tries>()

  const begin = async (address: string, tries: Tries) => {
    while (true) {
      const { count, secondsLeft } = failures.of(address, clock())
      if (count >= MOST_FAILURES)
        throw tooManyKeyFailures({ headers: { 'retry-after': String(secondsLeft) } })
      if (count + tries.running < MOST_FAILURES) return
      await new Promise<void>((resolve) => tries.waiting.push(resolve))
    }
  }

  const decide = async <T>(address: string, tries: Tries, look: () => Promise<T>): Promise<T> => {
    tries.running++
    try {
      return await look()
    } catch (error) {
      if (keyRejected.is(error)) failures.add(address, clock())
      throw error
    } finally {
      tries.running--
    }
  }

  return async <T>(address: string, look: () => Promise<T>): Promise<T> => {
    const tries = byAddress.get(address) ?? { open: 0, running: 0, waiting: [] }
    byAddress.set(address, tries)
    tries.open++
    try {
      await begin(address, tries)
      return await decide(address, tries, look)
    } finally {
      tries.open--
      tries.waiting.shift()?.()
      if (tries.open === 0) byAddress.delete(address)
    }
  }
}

/** Counts by name in a window of time. The oldest names are forgotten first. */
function countsByWindow() {
  const counts = new Map<string, { since: number; count: number }>()
  const current = (name: string, now: Date) => {
    const known = counts.get(name)
    return known && now.getTime() - known.since < WINDOW_SECONDS * 1000 ? known : undefined
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
      const [oldest] = counts.size > MOST_COUNTS ? counts.keys() : []
      if (oldest !== undefined) counts.delete(oldest)
      return known.count + 1
    },
  }
}
