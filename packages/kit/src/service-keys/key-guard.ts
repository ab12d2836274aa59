import { type Caller, type Guard, guarding, type Request } from '../http/framework.ts'
import { type Access, eitherAccess } from '../http/routes/operations.ts'
import { accessDenied, callerUnknown } from '../problems.ts'
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

export type KeyCaller = Caller & { keyId: number; scopes: string[] }

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
  const failures = countsByWindow()
  const refusals = countsByWindow()
  const notedUses = new Map<number, number>()

  const authenticate = async (request: Request, text: string): Promise<KeyCaller> => {
    const { ip } = request
    const now = keys.clock()
    const retryAfter = failures.secondsLeft(ip, now, MOST_FAILURES)
    if (retryAfter > 0) throw tooManyKeyFailures({ headers: { 'retry-after': String(retryAfter) } })
    const key = isKeyText(text)
      ? await findServiceKeyByHash(keys.db, hashOpaqueToken(text))
      : undefined
    if (!key || !isInForce(key, now) || !mayComeFrom(key, ip)) {
      failures.add(ip, now)
      if (key) await recordRefusal(request, key, now)
      throw keyRejected()
    }
    if (!isFromServer(request, allowedOrigins)) throw keyInBrowser()
    await noteUse(key, ip, now)
    return callerOf(key)
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
  const { id, name, scopes } = key
  return { userId: keyCaller(key), username: name, roles: [], sessionId: '', keyId: id, scopes }
}

/** Counts by name in a window of time. The oldest names are forgotten first. */
function countsByWindow() {
  const counts = new Map<string, { since: number; count: number }>()
  const current = (name: string, now: Date) => {
    const known = counts.get(name)
    return known && now.getTime() - known.since < WINDOW_SECONDS * 1000 ? known : undefined
  }
  return {
    /** Until the window ends of a name that has been counted `most` times; 0 below that. */
    secondsLeft(name: string, now: Date, most: number): number {
      const known = current(name, now)
      if (!known || known.count < most) return 0
      return Math.ceil((known.since + WINDOW_SECONDS * 1000 - now.getTime()) / 1000)
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
