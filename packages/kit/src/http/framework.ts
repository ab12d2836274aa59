import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { Static, TSchema } from 'typebox'
import { accessDenied, accessTokenRejected, callerUnknown } from '../problems.ts'

export interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

/** The web framework, as the rest of the code sees it. Nobody else imports it. */
export type Server = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  SchemaTypes
>

export type Request = FastifyRequest

export type Reply = FastifyReply

export type Caller = { userId: string; username: string; roles: string[]; sessionId: string }

const SCHEME = 'bearer '

export type Guard = (request: Request) => Promise<void>

/** Tells whose token this is, or nothing when it is not good (any more). */
export type Authenticate = (bearerToken: string) => Promise<Caller | undefined>

/**
 * Guards for routes. They are `onRequest` hooks, so a caller without a right gets 401 or 403
 * before a byte of the body is read or its type is looked at.
 */
export function callerGuard(authenticate: Authenticate): {
  caller: Guard
  role: (name: string) => Guard
} {
  const caller: Guard = async (request) => {
    const identified = await authenticate(bearerToken(request))
    if (!identified) throw accessTokenRejected()
    request.caller = identified
  }
  const role =
    (name: string): Guard =>
    async (request) => {
      await caller(request)
      if (!request.caller.roles.includes(name)) throw accessDenied()
    }
  return { caller, role }
}

function bearerToken({ headers: { authorization } }: Request): string {
  if (authorization === undefined) throw callerUnknown()
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) throw accessTokenRejected()
  return authorization.slice(SCHEME.length).trim()
}
