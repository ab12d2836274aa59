import { handleProblems, type Server } from '@plinth/kit/http'
import { renderOAuthError } from './problems.ts'

export const FORM = 'application/x-www-form-urlencoded'

/** Adds routes that take forms, and whose errors have the body of RFC 6749. */
export function inFormScope(server: Server, add: (scope: Server) => void): void {
  server.register(async (inner) => {
    const scope = inner as unknown as Server
    handleProblems(scope, renderOAuthError)
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
      done(null, new URLSearchParams(body as string))
    })
    add(scope)
  })
}
