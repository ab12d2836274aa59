/**
 * Writes the types of replies, bodies, queries, events and problem codes from the API documents in `docs/openapi`.
 * `node test/documents/openapi.ts` runs it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(import.meta.dirname, 'src/generated')
const SERVICES = ['identity', 'storage-full', 'storage-key', 'payments']

const HEAD = '// Generated from docs/openapi: `node test/documents/openapi.ts` writes it.'

type Schema = { [keyword: string]: unknown }
type Content = Record<string, { schema?: Schema }>
type Parameter = { name: string; in: string; description?: string; schema: Schema }
type Reply = { $ref?: string; content?: Content }
type Operation = {
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, Reply>
}
type ApiDocument = {
  info: object
  components: { schemas: Record<string, Schema>; responses: Record<string, Reply> }
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, { post: { requestBody: { content: Content } } }>
}

/** The text of each file in `src/generated`, by service. */
export async function generatedTypes(): Promise<Record<string, string>> {
  const requireOfKit = createRequire(join(ROOT, 'packages/kit/package.json'))
  const { default: typesOf, astToString } = requireOfKit('openapi-typescript')
  const texts = SERVICES.map(async (service) => {
    const document = JSON.parse(await readFile(join(ROOT, `docs/openapi/${service}.json`), 'utf8'))
    const types = astToString(await typesOf(schemasOnly(document)))
    return [service, `${HEAD}\n${onlyTypes(types)}`]
  })
  return Object.fromEntries(await Promise.all(texts))
}

export function generatedFile(service: string): string {
  return join(FOLDER, `${service}.ts`)
}

export async function writeGeneratedTypes(): Promise<void> {
  for (const [service, text] of Object.entries(await generatedTypes()))
    await writeFile(generatedFile(service), text)
}

/** Everything that the client needs of a document, as schemas. */
function schemasOnly({ info, paths, components, webhooks = {} }: ApiDocument) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, one]) => [`${method.toUpperCase()} ${path}`, one] as const,
    ),
  )
  const byOperation = (schemaOf: (operation: Operation) => Schema | undefined) =>
    objectOf(operations.map(([key, operation]) => [key, schemaOf(operation)]))
  const replies = [components.responses, ...operations.map(([, { responses }]) => responses)]
  const schemas = {
    ...components.schemas,
    Replies: byOperation(({ responses }) => replyOf(responses)),
    Bodies: byOperation(({ requestBody }) => requestBody?.content['application/json']?.schema),
    Queries: byOperation(({ parameters }) => queryOf(parameters)),
    EventData: objectOf(Object.entries(webhooks).map(([type, { post }]) => [type, dataOf(post)])),
    ProblemDetails: {
      type: 'object',
      properties: Object.assign({}, ...replies.flatMap(detailsIn)),
    },
    ProblemCode: { type: 'string', enum: [...new Set(replies.flatMap(codesIn))].sort() },
  }
  return { openapi: '3.1.0', info, paths: {}, components: { schemas: withoutLimits(schemas) } }
}

function objectOf(members: [string, Schema | undefined][]): Schema {
  const known = members.filter(([, schema]) => schema)
  const required = known.map(([name]) => name)
  return { type: 'object', required, properties: Object.fromEntries(known) }
}

/** Each schema as a type of its own; an optional member may also be undefined. */
function onlyTypes(text: string): string {
  const [, schemas = ''] = /^ {4}schemas: \{\n(.*?)^ {4}\};/ms.exec(text) ?? []
  return schemas
    .replaceAll(/^ {8}/gm, '')
    .replaceAll(/^(\w+): /gm, 'export type $1 = ')
    .replaceAll(/components\["schemas"\]\["(\w+)"\]/g, '$1')
    .replaceAll(/\{\n *\[key: string\]: (\w+);\n *\}/g, 'Record<string, $1>')
    .replaceAll(/(\?: .*[^{]);$/gm, '$1 | undefined;')
    .replaceAll(/^ *\/\*\* @(enum|constant)\b.*\n/gm, '')
    .replaceAll('@description ', '')
}

/** What a success sends as JSON; anything if it sends something else, or nothing. */
function replyOf(responses: Operation['responses']): Schema {
  const successes = Object.entries(responses).filter(([status]) => status < '300')
  const schemas = successes.flatMap(([, { content }]): Schema[] =>
    [content?.['application/json']?.schema ?? []].flat(),
  )
  return schemas.length === 1 ? { ...schemas[0] } : { anyOf: schemas }
}

function queryOf(parameters: Parameter[] = []): Schema | undefined {
  const given = parameters.filter((parameter) => parameter.in === 'query')
  const described = given.map(({ name, description, schema }) => [
    name,
    { ...typed(schema), description },
  ])
  return given.length === 0
    ? undefined
    : { type: 'object', properties: Object.fromEntries(described) }
}

/** Values that the settings of one service offer are no type: those of another may offer others. */
function typed({ 'x-from-settings': fromSettings, ...schema }: Schema): Schema {
  if (isBoolean(schema)) return { type: 'boolean' }
  const { enum: _, ...plain } = schema
  return fromSettings ? plain : schema
}

const isBoolean = ({ enum: values }: Schema) => String(values) === 'true,false'

function dataOf({ requestBody }: { requestBody: { content: Content } }): Schema | undefined {
  const { properties } = requestBody.content['application/json']?.schema ?? {}
  return (properties as Record<string, Schema> | undefined)?.data
}

/** The members that only some problems have, from all schemas of the form "a problem, and this". */
function detailsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  const { allOf } = value as { allOf?: { properties?: Record<string, Schema> }[] }
  if (!Array.isArray(allOf)) return Object.values(value).flatMap(detailsIn)
  return allOf.map(({ properties: { code: _, ...details } = {} }) => details)
}

/** The codes of problems, `error` in those of OAuth, wherever they are. */
function codesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { code, error } = value as { code?: Schema; error?: Schema }
  const own = [code?.enum ?? [], error?.enum ?? []].flat() as string[]
  return [...own, ...Object.values(value).flatMap(codesIn)]
}

const LIMITS = ['pattern', 'format', 'default', 'example', 'examples', 'uniqueItems']
const BOUNDS = /^(min|max)/

/** Without what a type cannot say, which would fill its comments. */
function withoutLimits(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLimits)
  if (typeof value !== 'object' || value === null) return value
  const { properties, ...keywords } = value as Schema
  const kept = Object.entries(keywords).filter(
    ([name]) => !LIMITS.includes(name) && !BOUNDS.test(name),
  )
  const members = Object.entries(properties ?? {}).map(([name, schema]) => [
    name,
    withoutLimits(schema),
  ])
  return {
    ...Object.fromEntries(kept.map(([name, keyword]) => [name, withoutLimits(keyword)])),
    ...(properties ? { properties: Object.fromEntries(members) } : {}),
  }
}
