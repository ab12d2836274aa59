import { methodNotAllowed, notFound } from '../problems.ts'
import type { Request, Server } from './server.ts'

type KnownRoute = { method: string; pattern: RegExp }

/**
 * 405 with `Allow` for a known path asked with another method; 404 for everything else. Told before
 * the body is read, so that nothing in the body changes the answer.
 */
export function answerUnknownRoutes(server: Server): void {
  const routes: KnownRoute[] = []
  server.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) routes.push({ method: name, pattern: patternOf(url) })
  })
  const refuse = (request: Request): never => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (allowed.length === 0) throw notFound()
    throw methodNotAllowed({ headers: { allow: [...new Set(allowed)].sort().join(', ') } })
  }
  server.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.is404) refuse(request)
    done(null, payload)
  })
  server.setNotFoundHandler(refuse)
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+'
    if (part === '*') return '.*'
    return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('/')}$`)
}
