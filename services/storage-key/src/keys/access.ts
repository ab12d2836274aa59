import { hash, timingSafeEqual } from 'node:crypto'
import { type Access, type Guard, guarding, type Server, targetOf } from '@plinth/kit/http'
import { databaseUnavailable, Problem } from '@plinth/kit/problems'
import {
  insufficientScope,
  KEY_PROBLEMS,
  type KeyGuard,
  looksLikeKey,
  scopeMissing,
} from '@plinth/service-keys'
import { keyRejected } from '../problems.ts'
import { isFileArea } from '../request-target.ts'

/** The target `*` of OPTIONS, which asks about the server as a whole (RFC 9110, section 9.3.7). */
const WHOLE_SERVER = '/*'

/** OPTIONS needs no key and only lists the methods; it does not allow other origins. */
export function answerOptions(server: Server): void {
  server.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'OPTIONS') return
    const path = request.url.split('?', 1)[0] ?? ''
    const methods = path === WHOLE_SERVER ? allMethods(server) : server.methodsAt(path)
    if (methods.length > 0)
      return reply
        .code(200)
        .header('allow', [...methods, 'OPTIONS'].join(', '))
        .send()
  })
}

function allMethods({ operations }: Server): string[] {
  return [...new Set(['HEAD', ...operations.map(({ method }) => method)])].sort()
}

const SCHEMES: Access['schemes'] = { key: { type: 'apiKey', in: 'header', name: 'X-API-KEY' } }

/** What `requireKey` requires, for the API document. */
export function keyAccess(keys: KeyGuard | undefined): Access {
  const others = KEY_PROBLEMS.filter(({ status }) => status !== 401)
  return {
    schemes: SCHEMES,
    problems: [keyRejected, ...(keys ? [scopeMissing, databaseUnavailable, ...others] : [])],
  }
}

/**
 * Requires the configured key for every target that any server might read as the file area, before
 * routing and before any of the body is read. A service key with the scope is accepted as well.
 */
export function requireKey(server: Server, isConfiguredKey: KeyCheck, keys?: KeyGuard): void {
  server.addHook('onRequest', async (request) => {
    if (request.method === 'OPTIONS' || !isFileArea(targetOf(request))) return
    const given = request.headers['x-api-key']
    if (isConfiguredKey(given)) {
      request.caller = CONFIGURED_KEY
      return
    }
    if (!keys || typeof given !== 'string' || !looksLikeKey(given)) throw keyRejected()
    const key = await keys.authenticate(request, given).catch((error) => {
      throw error instanceof Problem && error.status === 401 ? keyRejected({ cause: error }) : error
    })
    request.caller = key
    const needed = /^(GET|HEAD)$/.test(request.method) ? 'files:read' : 'files:write'
    if (!key.scopes.includes(needed)) throw insufficientScope(needed)
  })
}

const CONFIGURED_KEY = {
  userId: 'configured-key',
  username: 'configured key',
  roles: [],
  sessionId: '',
}

type KeyCheck = (given: unknown) => boolean

export function configuredKey(key: string): KeyCheck {
  const expected = digest(key)
  // Digests have the same length, so the comparison does not reveal the length of the key either.
  return (given) => typeof given === 'string' && timingSafeEqual(digest(given), expected)
}

/** Service keys can be managed only with the configured key. */
export function adminGuard(isConfiguredKey: KeyCheck): Guard {
  return guarding(
    { schemes: SCHEMES, problems: [keyRejected, databaseUnavailable] },
    async (request) => {
      if (!isConfiguredKey(request.headers['x-api-key'])) throw keyRejected()
      request.caller = CONFIGURED_KEY
    },
  )
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
