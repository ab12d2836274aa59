import {
  accessDenied,
  accessTokenRejected,
  callerUnknown,
  type DefinedProblem,
} from '../problems.ts'
import { looksLikeClientToken } from '../tokens/client-token.ts'
import type { Caller, Guard, Request } from './framework.ts'
import type { Access } from './routes/operations.ts'

const FOR_USERS =
  'This token is for programs, and no scope of theirs opens this. Send the access token of a user instead.'

const ANYONE: Caller = { userId: '', username: 'anyone', roles: [], sessionId: '' }

/** For a route that is open to everyone, but whose handler reads `request.caller`. */
export const anyone: Guard = async (request) => {
  request.caller = ANYONE
}

/** Returns the caller that a token belongs to, or nothing when it is not valid (any more). */
export type Authenticate = (bearerToken: string) => Promise<Caller | undefined>

/**
 * Guards for routes. They are `onRequest` hooks, so an unauthorised caller gets 401 or 403 before a
 * byte of the body is read or its type is checked.
 */
export function callerGuard(
  authenticate: Authenticate,
  problems: DefinedProblem[] = [],
): {
  caller: Guard
  role: (name: string) => Guard
} {
  const access = { schemes: BEARER, problems: [callerUnknown, accessTokenRejected, ...problems] }
  const denying = { ...access, problems: [...access.problems, accessDenied] }
  const identify: Guard = async (request) => {
    const token = bearerToken(request)
    const identified = await authenticate(token)
    if (!identified && looksLikeClientToken(token)) throw accessTokenRejected({ detail: FOR_USERS })
    if (!identified) throw accessTokenRejected()
    request.caller = identified
  }
  const role = (name: string): Guard =>
    guarding(denying, async (request) => {
      await identify(request)
      if (!request.caller.roles.includes(name)) throw accessDenied()
    })
  return { caller: guarding(access, identify), role }
}

/** Adds to a guard what the API document says about it. */
export function guarding(access: Access | undefined, guard: Guard): Guard {
  return Object.assign(guard, { access })
}

const BEARER = { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } }

const SCHEME = 'bearer '

function bearerToken({ headers: { authorization } }: Request): string {
  if (authorization === undefined) throw callerUnknown()
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) throw accessTokenRejected()
  return authorization.slice(SCHEME.length).trim()
}
