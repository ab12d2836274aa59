import type { Access, Operation } from '../operations.ts'
import { parametersOf, SIGNATURE, signatureParameters } from './parameters.ts'
import {
  headerComponents,
  mediaOf,
  type ProblemForm,
  problemResponses,
  problemsOf,
  type Responses,
  successResponses,
} from './responses.ts'
import { type Components, createComponents, type Json } from './schemas.ts'

/** What a service says about its API as a whole. */
export type ApiDescription = {
  title: string
  version: string
  description: string
  /** In the order in which a reader should see them. */
  tags: Record<string, string>
  /** False if no route uses a database. */
  database?: boolean
  /** What server-wide hooks require; the guards of a route declare their own requirements. */
  accessTo?: (url: string) => Access[]
  problemForm?: ProblemForm
  /** The events that the service sends to URLs registered by its clients, by event type. */
  webhooks?: Record<string, { summary: string; body: object; example: object }>
}

export type OpenApiDocument = Json & { paths: Record<string, Record<string, Json>> }

/** The OpenAPI 3.1 document for the routes of a server, without the URL of the server. */
export function openApiDocument(operations: Operation[], api: ApiDescription): OpenApiDocument {
  const components = createComponents()
  const securitySchemes: Json = {}
  const paths: OpenApiDocument['paths'] = {}
  for (const operation of operations.filter(({ schema }) => !schema.hide)) {
    const access = [...operation.access, ...(api.accessTo?.(operation.url) ?? [])]
    for (const asked of access) Object.assign(securitySchemes, asked.schemes, asked.otherSchemes)
    const path = operation.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][operation.method.toLowerCase()] = describe(operation, { access, api, components })
  }
  const responses = shareResponses(paths)
  return {
    openapi: '3.1.0',
    info: {
      title: api.title,
      version: api.version,
      description: api.description,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    tags: Object.entries(api.tags).map(([name, description]) => ({ name, description })),
    paths,
    ...(api.webhooks && { webhooks: webhooksOf(api.webhooks, components) }),
    components: {
      schemas: sorted(components.schemas),
      responses: sorted(responses),
      headers: usedIn([paths, responses], headerComponents),
      ...(api.webhooks && { parameters: signatureParameters(components) }),
      securitySchemes: sorted(securitySchemes),
    },
  }
}

/** OpenAPI calls a request that the service makes a webhook. */
function webhooksOf(webhooks: NonNullable<ApiDescription['webhooks']>, components: Components) {
  return mapValues(webhooks, ({ summary, body, example }, type) => ({
    post: {
      operationId: operationIdOf(type),
      summary,
      // Webhooks are signed, which no security scheme of OpenAPI describes.
      security: [],
      parameters: SIGNATURE.required.map((name) => ({ $ref: `#/components/parameters/${name}` })),
      requestBody: {
        required: true,
        content: { 'application/json': { ...mediaOf(body, components), example } },
      },
      responses: { '2XX': { description: 'Delivered. Anything else is tried again.' } },
    },
  }))
}

/** `payment.paid` is `onPaymentPaid`. */
function operationIdOf(type: string): string {
  return `on.${type}`.replaceAll(/[._]([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

type Context = { access: Access[]; api: ApiDescription; components: Components }

function describe(operation: Operation, { access, api, components }: Context): Json {
  const { schema } = operation
  const { database = true } = api
  const problemForm = schema.problemForm ?? api.problemForm
  const problems = problemsOf(operation, { access, database })
  const parameters = parametersOf(operation, components)
  const bodies = schema.readsBody ?? (schema.body ? { 'application/json': schema.body } : undefined)
  return {
    operationId: schema.operationId,
    tags: schema.tags,
    summary: schema.summary,
    ...(schema.description && { description: schema.description }),
    security: securityOf(access),
    ...(parameters.length > 0 && { parameters }),
    ...(bodies && {
      requestBody: {
        required: !isNullable(Object.values(bodies)[0]),
        content: mapValues(bodies, (body) => mediaOf(body, components)),
      },
    }),
    responses: merged(
      successResponses(operation, components),
      problemResponses(problems, components, problemForm),
    ),
  }
}

/** A caller needs all schemes of one entry, and may choose which entry. */
function securityOf(access: Access[]): Json[] {
  if (access.length === 0) return []
  const all = (chosen: (asked: Access) => object) =>
    mapValues(Object.assign({}, ...access.map(chosen)) as Json, () => [])
  const first = all(({ schemes }) => schemes)
  const hasChoice = access.some(({ otherSchemes }) => otherSchemes)
  return hasChoice ? [first, all(({ schemes, otherSchemes = schemes }) => otherSchemes)] : [first]
}

/** The same status may be declared both for a reply of the route and for a problem. */
function merged(replies: Responses, problems: Responses): Responses {
  const both = Object.entries(replies).map(([status, reply]) => {
    const problem = problems[status]
    if (!problem) return [status, reply]
    const description = `${reply.description}\n\n${problem.description}`
    const headers = { ...reply.headers, ...problem.headers }
    return [status, { description, headers, content: { ...reply.content, ...problem.content } }]
  })
  return { ...problems, ...Object.fromEntries(both) }
}

/** A body may be absent if it may be null, or if none of its members is required. */
function isNullable(body: unknown): boolean {
  const { required, anyOf } = body as { required?: string[]; anyOf?: { type?: string }[] }
  return anyOf?.some(({ type }) => type === 'null') ?? required === undefined
}

/** A problem response that several routes share becomes a component named by its status and codes. */
function shareResponses(paths: OpenApiDocument['paths']): Json {
  const responses: Json = {}
  const uses = new Map<string, { holder: Json; status: string }[]>()
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path)))
    for (const [status, response] of Object.entries(operation.responses as Json)) {
      if (Number(status) < 400) continue
      const text = JSON.stringify(response)
      uses.set(text, [...(uses.get(text) ?? []), { holder: operation.responses as Json, status }])
    }
  for (const [text, places] of uses) {
    const name = `${places[0]?.status}_${[...text.matchAll(/`([A-Z_]{3,})`:/g)].map(([, code]) => code).join('_or_')}`
    if (places.length < 2 || name in responses) continue
    responses[name] = JSON.parse(text)
    for (const { holder, status } of places)
      holder[status] = { $ref: `#/components/responses/${name}` }
  }
  return responses
}

function usedIn(parts: unknown[], components: Json): Json {
  const references = JSON.stringify(parts).matchAll(/"#\/components\/headers\/([\w-]+)"/g)
  const used = new Set([...references].map(([, name]) => name))
  return Object.fromEntries(Object.entries(components).filter(([name]) => used.has(name)))
}

function sorted(named: Json): Json {
  return Object.fromEntries(Object.entries(named).sort(([one], [other]) => (one < other ? -1 : 1)))
}

function mapValues<T>(named: Record<string, T>, change: (value: T, name: string) => unknown): Json {
  const entries = Object.entries(named).map(([name, value]) => [name, change(value, name)])
  return Object.fromEntries(entries)
}
