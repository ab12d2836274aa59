import { signal } from '@preact/signals'
import { createApi } from '../shared/api/api.ts'

/** The parts of JSON Schema that the page shows. */
export type Schema = {
  $ref?: string
  type?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  items?: Schema
  anyOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  default?: unknown
}

export type Media = { schema?: Schema; example?: unknown; examples?: Record<string, unknown> }
type Content = Record<string, Media>

export type Parameter = {
  $ref?: string
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
  example?: unknown
}

export type Answer = {
  $ref?: string
  description: string
  headers?: Record<string, { $ref: string }>
  content?: Content
}

type SecurityScheme = {
  type: string
  scheme?: string
  name?: string
  description?: string
}

export type Operation = {
  operationId: string
  method: string
  path: string
  tags: string[]
  summary: string
  description?: string
  security: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, Answer>
  /** An event that the service sends, so there is nothing to try. */
  isSent?: boolean
}

type Described = Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>

export type ApiDocument = {
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Described
  webhooks?: Described
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Answer>
    headers: Record<string, { description: string }>
    securitySchemes: Record<string, SecurityScheme>
  }
}

export const api = signal<ApiDocument | undefined>(undefined)

/** Whether the service has accounts of its own. */
export const hasSignIn = () => api.value?.paths['/api/auth/login'] !== undefined

/** The service that the document describes, by title; it decides the colour and the client. */
export const SERVICES: Record<string, string> = {
  'Plinth identity': 'identity',
  'Plinth storage, full edition': 'storage-full',
  'Plinth storage, key edition': 'storage-key',
  'Plinth payments': 'payments',
}

export async function readDocument() {
  const { get } = createApi<{ 'GET /openapi.json': ApiDocument }>({ headers: () => ({}) })
  const reply = await get('/openapi.json', { open: true, silent: true })
  if (reply.ok) api.value = reply.body
  return reply
}

export function operationsOf({ paths }: ApiDocument): Operation[] {
  return listed(paths).map((operation) => ({
    ...operation,
    method: operation.method.toUpperCase(),
  }))
}

/** Events that are sent to endpoints have a tag of their own. */
export const SENT = { name: 'Sent events', description: 'The events that endpoints receive.' }

export function webhooksOf({ webhooks = {} }: ApiDocument): Operation[] {
  return listed(webhooks).map(({ parameters = [], ...operation }) => ({
    ...operation,
    parameters: parameters.map(resolved),
    tags: [SENT.name],
    method: 'EVENT',
    isSent: true,
  }))
}

function listed(described: Described): Operation[] {
  return Object.entries(described).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, rest]) => ({ ...rest, method, path })),
  )
}

/** The target of a reference, or the value itself. */
export function resolved<T extends { $ref?: string }>(given: T): T {
  if (!given.$ref) return given
  const names = given.$ref.slice(2).split('/')
  return names.reduce(
    (part: unknown, name) => (part as Record<string, unknown>)[name],
    api.value,
  ) as T
}

/** The last part of a reference, which is the name of the schema. */
export const nameOf = ({ $ref }: { $ref?: string }) => $ref?.split('/').at(-1)

/** The problem codes of a response. */
export function codesOf(answer: Answer): string[] {
  const content = resolved(answer).content ?? {}
  return Object.keys(content['application/problem+json']?.examples ?? {})
}

/** Whether all words occur in the description of the operation. */
export function matches(operation: Operation, words: string): boolean {
  const { operationId, method, path, summary, tags, responses } = operation
  const codes = Object.values(responses).flatMap(codesOf)
  const text = [operationId, method, path, summary, ...tags, ...codes].join(' ').toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
