import type { Guard, Request, Server } from '../../framework.ts'

/** Requests whose body arrived later than their headers. */
export const late = new WeakSet<Request>()

/**
 * Guards run before the body, which may take a while: a caller whose session ends or whose role is withdrawn
 * meanwhile must not proceed with its former rights. A body that arrived with its headers needs no second
 * check. An upload is read by its handler, after this.
 */
export function guardLateBodies(server: Server): void {
  server.addHook('onRoute', (route) => {
    const guards = [route.onRequest ?? []].flat().filter((hook) => 'access' in hook) as Guard[]
    if (guards.length === 0 || route.method === 'GET') return
    const guardAgain = async (request: Request) => {
      if (!late.has(request)) return
      for (const guard of guards) await guard(request)
    }
    route.preValidation = [guardAgain, ...[route.preValidation ?? []].flat()]
  })
}
