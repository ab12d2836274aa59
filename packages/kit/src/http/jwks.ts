import { JWKS_MAX_AGE_SECONDS, type SigningKeys } from '../signing-keys.ts'
import type { Server } from './server.ts'

/** Publishes the public keys, so that others can check this service's tokens by themselves. */
export function jwksRoutes(server: Server, keys: SigningKeys): void {
  server.get('/.well-known/jwks.json', async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`)
    return { keys: await keys.published() }
  })
}
