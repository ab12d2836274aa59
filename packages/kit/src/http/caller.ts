import { accessDenied, accessTokenRejected, callerUnknown } from '../problems.ts'
import type { Request } from './server.ts'

export type Caller = { userId: string; username: string; roles: string[]; sessionId: string }

export type Guard = (request: Request) => Promise<void>

/** Tells whose token this is, or nothing when it is not good (any more). */
export type Authenticate = (bearerToken: string) => Promise<Caller | undefined> | Caller | undefined

/**
 * Guards for routes. They are `onRequest` hooks, so a caller without a right gets 401 or 403
 * before a byte of the body is read or its type is looked at.
 */
export function callerGuard(authenticate: Authenticate): {
  caller: Guard
  role: (name: string) => Guard
} {
  const caller: Guard = async (request) => {
    request.caller = await requireCaller(request, authenticate)
  }
  const role = (name: string): Guard => {
    return async (request) => {
      await caller(request)
      if (!request.caller.roles.includes(name)) throw accessDenied()
    }
  }
  return { caller, role }
}

async function requireCaller(request: Request, authenticate: Authenticate): Promise<Caller> {
  const header = request.headers.authorization
  if (header === undefined) throw callerUnknown()
  const token = /^Bearer +([^\s]+) *$/i.exec(header)?.[1]
  const caller = token === undefined ? undefined : await authenticate(token)
  if (!caller) throw accessTokenRejected()
  return caller
}
