import type { Awaitable } from '../awaitable.ts'
import { accessDenied, accessTokenRejected, callerUnknown } from '../problems.ts'
import type { Reply, Request } from './server.ts'

export type Caller = { userId: string; username: string; roles: string[]; sessionId: string }

const SCHEME = 'bearer '

/** Calls `done`, or returns a promise when it has to wait for something. */
export type Guard = (request: Request, reply: Reply, done: () => void) => Promise<void> | undefined

/** Tells whose token this is, or nothing when it is not good (any more). */
export type Authenticate = (bearerToken: string) => Awaitable<Caller | undefined>

/**
 * Guards for routes. They are `onRequest` hooks, so a caller without a right gets 401 or 403
 * before a byte of the body is read or its type is looked at.
 */
export function callerGuard(authenticate: Authenticate): {
  caller: Guard
  role: (name: string) => Guard
} {
  const guard =
    (refuse: (caller: Caller) => void): Guard =>
    (request, _reply, done) => {
      const admit = (caller: Caller | undefined) => {
        if (!caller) throw accessTokenRejected()
        request.caller = caller
        refuse(caller)
      }
      const identified = authenticate(bearerToken(request))
      if (identified instanceof Promise) return identified.then(admit)
      admit(identified)
      done()
    }
  const role = (name: string) =>
    guard(({ roles }) => {
      if (!roles.includes(name)) throw accessDenied()
    })
  return { caller: guard(() => {}), role }
}

function bearerToken({ headers: { authorization } }: Request): string {
  if (authorization === undefined) throw callerUnknown()
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) throw accessTokenRejected()
  return authorization.slice(SCHEME.length).trim()
}
