import type { TSchema, TUnknown } from 'typebox'
import type { DefinedProblem } from '../../problems.ts'

/** What a guard requires of a caller. */
export type Access = {
  /** OpenAPI security schemes by name; the caller needs all of them. */
  schemes: Record<string, object>
  /** Alternative schemes, accepted instead of those. */
  otherSchemes?: Record<string, object>
  problems: DefinedProblem[]
}

type Guarded = { access?: Access }

/** The requirements of a guard that accepts what either of two guards accepts. */
export function eitherAccess({ access: one }: Guarded, { access: other }: Guarded): Access {
  return {
    schemes: one?.schemes ?? {},
    otherSchemes: other?.schemes,
    problems: [...(one?.problems ?? []), ...(other?.problems ?? [])],
  }
}

/** What a route declares in its `schema` for the API document; nothing here changes how it runs. */
type Declaration = {
  /** Also the name of the client's method. */
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  /** The problems it may answer with, besides those of its guards and of every route. */
  problems?: DefinedProblem[]
  /** Query parameters that the route parses itself. */
  readsQuery?: TSchema
  /** Request headers that the route reads itself. */
  readsHeaders?: TSchema
  /** A HEAD route with a meaning of its own, not the framework's addition to a GET. */
  describesHead?: boolean
  /** The body by media type, if the handler reads it itself. */
  readsBody?: Record<string, TSchema>
  /** How it writes problems if not as RFC 9457 says: the content of a response. */
  problemForm?: (problems: DefinedProblem[]) => Record<string, unknown>
  /** What it requires of a caller beyond its guards. */
  access?: Access[]
  /** Pages and their assets are not part of the API. */
  hide?: boolean
}

declare module 'fastify' {
  interface FastifySchema extends Declaration {}
}

type RouteSchema = Declaration & {
  body?: unknown
  params?: unknown
  querystring?: unknown
  headers?: unknown
  response?: unknown
}

export type Operation = {
  method: string
  /** As the router knows it: `/api/users/:id`. */
  url: string
  schema: RouteSchema
  access: Access[]
}

type Route = {
  method: string | string[]
  url: string
  schema?: RouteSchema
  onRequest?: unknown
}

/** A route as the document needs it; HEAD is usually the framework's own addition to GET. */
export function operationsOf({ method, url, schema = {}, onRequest }: Route): Operation[] {
  const guards = [onRequest ?? []].flat() as Guarded[]
  const access = [...guards.flatMap((guard) => guard.access ?? []), ...(schema.access ?? [])]
  return [method]
    .flat()
    .filter((name) => name !== 'HEAD' || schema.describesHead)
    .map((name) => ({ method: name, url, schema, access }))
}

/**
 * The response schemas that the framework gets. It compiles a serializer for each, which drops undeclared
 * members; that is wanted only where a schema is closed (`additionalProperties: false`).
 */
export function filteringResponses(response: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries((response ?? {}) as Record<string, Shape>).filter(
      ([, schema]) => (schema.items ?? schema).additionalProperties === false,
    ),
  )
}

type Shape = { additionalProperties?: unknown; items?: Shape }

const DETAILS = Symbol('details of a reply')

type ReplyDetails = {
  description?: string
  headers?: string[]
  /** `application/json` by default; none for a reply without a body. */
  mediaTypes?: string[]
}

/** A reply with more than a JSON body. The framework and Ajv ignore symbols. */
export function replyWith<T extends TSchema>(details: ReplyDetails, schema: T): T {
  return { ...schema, [DETAILS]: details }
}

export function detailsOf(schema: unknown): ReplyDetails {
  return (schema as { [DETAILS]?: ReplyDetails })[DETAILS] ?? {}
}

const ANYTHING = {} as TUnknown

/** A reply whose body is not JSON, or that has no body. */
export function bareReply(details: ReplyDetails): TUnknown {
  return replyWith({ mediaTypes: [], ...details }, ANYTHING)
}

export const noContent = bareReply({})
