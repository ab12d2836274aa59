import { hash, timingSafeEqual } from 'node:crypto'
import type { Server } from '@plinth/kit'
import { keyRejected } from './problems.ts'
import { isFileArea } from './request-target.ts'

/**
 * Asks for the key on everything that could be read as the file area, before the route is looked
 * at and before any of the body is read.
 */
export function requireKey(server: Server, key: string): void {
  const expected = digest(key)
  server.addHook('onRequest', async (request) => {
    if (request.method === 'OPTIONS' || !isFileArea(request.originalUrl)) return
    const given = request.headers['x-api-key']
    // Digests have one length, so the comparison tells nothing, not even how long the key is.
    if (typeof given !== 'string' || !timingSafeEqual(digest(given), expected)) throw keyRejected()
  })
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
