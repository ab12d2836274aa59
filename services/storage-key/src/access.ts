import { hash, timingSafeEqual } from 'node:crypto'
import { type Access, type Server, targetOf } from '@plinth/kit'
import { keyRejected } from './problems.ts'
import { isFileArea } from './request-target.ts'

const ALLOWED: [path: RegExp, methods: string][] = [
  [/^\/file$/, 'POST, OPTIONS'],
  [/^\/file\/info\/[^/]+$/, 'GET, HEAD, OPTIONS'],
  [/^\/file\/[^/]+$/, 'GET, HEAD, DELETE, OPTIONS'],
  [/^\/(|actuator\/health|openapi\.json|(api-test|reference)(\/.*)?)$/, 'GET, HEAD, OPTIONS'],
  [/^\/\*$/, 'GET, HEAD, POST, DELETE, OPTIONS'],
]

/** OPTIONS needs no key and only lists the methods; it allows no other origin. */
export function answerOptions(server: Server): void {
  server.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'OPTIONS') return
    const allowed = ALLOWED.find(([path]) => path.test(request.url))
    if (allowed) return reply.code(200).header('allow', allowed[1]).send()
  })
}

/** What `requireKey` asks for, for the API document. */
export const KEY_ACCESS: Access = {
  schemes: { key: { type: 'apiKey', in: 'header', name: 'X-API-KEY' } },
  problems: [keyRejected],
}

/**
 * Requires the key for every target that any server might read as the file area, before routing
 * and before any of the body is read.
 */
export function requireKey(server: Server, key: string): void {
  const expected = digest(key)
  server.addHook('onRequest', async (request) => {
    if (request.method === 'OPTIONS' || !isFileArea(targetOf(request))) return
    const given = request.headers['x-api-key']
    // Digests have the same length, so the comparison does not reveal the length of the key either.
    if (typeof given !== 'string' || !timingSafeEqual(digest(given), expected)) throw keyRejected()
  })
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
