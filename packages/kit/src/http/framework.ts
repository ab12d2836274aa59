import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Logger } from '../logging.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Tracer } from '../tracing/trace-context.ts'
import type { ApiDescription } from './routes/openapi/document.ts'
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
  Logger,
  SchemaTypes
>

export type Request = FastifyRequest

export type Reply = FastifyReply

/** The framework types the log of a request as any logger; `createServer` gave it ours. */
export function logOf({ log }: Request): Logger {
  return log as Logger
}

export type Caller = {
  userId: string
  username: string
  roles: string[]
  sessionId: string
  /** When the user signed in or reauthenticated, if the token says so. */
  authenticatedAt?: Date
}

export type PageFacts = (request: Request) => Record<string, unknown>

/** A service that is DEGRADED takes requests, and refuses those that would store something. */
export type Health = { status: 'UP' | 'DEGRADED' | 'DOWN'; reason?: string }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers a body with a `Content-Encoding` itself. */
    refusesEncoding?: boolean
    /** The handler calls `receiveUpload`, which reads the body within limits of its own. */
    receivesUpload?: boolean
  }
  interface FastifyInstance {
    /** Whether the service works, and if not, why; DOWN while it is stopping. */
    health(): Promise<Health>
    /** True once the service is stopping: it finishes requests in flight and is not ready. */
    draining: boolean
    readonly clock: Clock
    /** The metrics of the service; read by the management listener. */
    readonly metrics: Metrics
    /** Set when tracing is on; for work that no request waits for. */
    readonly tracer: Tracer | undefined
    /** The URL at which clients reach the service. */
    readonly publicUrl: string | undefined
    /** The URL at which the client of this request reaches the service: scheme, host and base path. */
    baseUrlOf(request: Request): string
    /** The URL of a document on who issues tokens for this service; sent when a token is refused. */
    resourceMetadata: string | undefined
    /** Warnings for the operator; logged once, when the service listens. */
    readonly announcements: string[]
    /** Tells the console pages what they need to know; public, like the pages. Asked anew for each page. */
    tellPages(facts: PageFacts): void
    /** What the pages of this request are told. */
    pageFacts(request: Request): Record<string, unknown>
    /** The methods of the routes that match a path, sorted. */
    methodsAt(path: string): string[]
    /** Every route, for the API document. */
    readonly operations: Operation[]
    /** The description of the API as a whole, if the server publishes one. */
    api: ApiDescription | undefined
    /** Runs `work` when the server has answered its last request; the last registered runs first. */
    onClose(work: () => Promise<void> | void): void
  }
  interface FastifyRequest {
    /** Who is calling. Set by a guard; reading it on an unguarded route is a bug and throws. */
    caller: Caller
  }
}

export type Guard = ((request: Request) => Promise<void>) & { access?: Access }
