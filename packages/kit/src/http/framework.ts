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
import type { Metrics } from '../metrics/metrics.ts'
import {
  accessDenied,
  accessTokenRejected,
  callerUnknown,
  type DefinedProblem,
} from '../problems.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Tracer } from '../tracing/trace-context.ts'
import type { Access, Operation } from './routes/operations.ts'

export interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

/** The web framework, as the rest of the code sees it. No other package imports it. */
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

export type SuiteLinks = {
  home: string
  consoles: { name: string; title: string; href: string }[]
  /** The console of the service whose tokens this one takes, too. */
  signIn?: string
}

export type Health = { status: 'UP' | 'DOWN'; reason?: string }

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether the service takes requests, and if not, why. */
    readiness(): Promise<Health>
    /** True once the service is stopping: it finishes what it has and is not ready. */
    draining: boolean
    clock: Clock
    /** What the service counts; read by the management listener. */
    metrics: Metrics
    /** Where traces are on: for work that no request waits for. */
    tracer: Tracer | undefined
    /** What clients reach the service by. */
    publicUrl: string | undefined
    /** Where the client of this request finds the service: scheme, host and base path. */
    baseUrlOf(request: Request): string
    /** Describes who issues tokens for this service; named when one is refused. */
    resourceMetadata: string | undefined
    /** What an operator should know; logged once, when the service listens. */
    announcements: string[]
    /** What the pages of the console must know of the settings; public, as the pages are. */
    pageFacts: Record<string, unknown>
    /** Where the other consoles are, for a switcher; set by who runs several services. */
    suiteOf: ((request: Request) => SuiteLinks) | undefined
    /** Every route, for the API document. */
    operations: Operation[]
    /** What the service says about its API as a whole; see `routes/openapi/document.ts`. */
    api: unknown
    /** Runs when the server has answered its last request; the last registered runs first. */
    onClose(work: () => Promise<void> | void): void
  }
  interface FastifyRequest {
    /** Who is asking. Set by a guard; reading it on an unguarded route is a bug and throws. */
    caller: Caller
  }
}

export type Guard = ((request: Request) => Promise<void>) & { access?: Access }

const ANYONE: Caller = { userId: '', username: 'anyone', roles: [], sessionId: '' }

/** For a route that asks nothing of its callers, but says whom it served. */
export const anyone: Guard = async (request) => {
  request.caller = ANYONE
}

/** Returns whose token this is, or nothing when it is not valid (any more). */
export type Authenticate = (bearerToken: string) => Promise<Caller | undefined>

/**
 * Guards for routes. They are `onRequest` hooks, so a caller without a right gets 401 or 403
 * before a byte of the body is read or its type is looked at.
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
    const identified = await authenticate(bearerToken(request))
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

/** A guard that the API document describes. */
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
