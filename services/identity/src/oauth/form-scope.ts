import { acceptForms, handleProblems, inScope, type Server } from '@plinth/kit/http'
import { renderOAuthError } from './problems.ts'

/** Adds routes that take forms, and whose errors have the body of RFC 6749. */
export function inFormScope(server: Server, add: (scope: Server) => void): void {
  inScope(server, (scope) => {
    handleProblems(scope, renderOAuthError)
    acceptForms(scope)
    add(scope)
  })
}
