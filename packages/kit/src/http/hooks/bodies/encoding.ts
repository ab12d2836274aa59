import { encodingUnsupported } from '../../../problems.ts'
import type { Request, Server } from '../../framework.ts'
import { beforeBodies, hasBody } from './before-bodies.ts'

/**
 * Compressed bodies are refused, because a small one could expand into a large one. A route with
 * `refusesEncoding` does so itself.
 */
export function refuseEncodedBodies(server: Server): void {
  beforeBodies(server, ({ headers, routeOptions }, _reply, payload, done) => {
    if (routeOptions.config.refusesEncoding) return done(null, payload)
    if (!isEncoded(headers) || !hasBody(headers)) done(null, payload)
    else done(encodingUnsupported())
  })
}

export function isEncoded(headers: Request['headers']): boolean {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  return encoding !== '' && encoding !== 'identity'
}
