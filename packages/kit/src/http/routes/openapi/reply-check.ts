import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApiDocument } from './document.ts'
import { type Json, mapSchemas } from './schemas.ts'

/** `path` as the document writes it: `/api/files/{id}`. */
export type SentReply = { method: string; path: string; status: number; type: string }

/** Returns what is wrong with a reply, if anything. The body is undefined if it is not text. */
export type ReplyCheck = (reply: SentReply, body: string | undefined) => string | undefined

type Media = { schema?: Json }

/**
 * Compares replies with an API document: the status and the media type are declared, the body is
 * valid, and it has no member that is not declared.
 */
export function replyCheckOf(document: OpenApiDocument): ReplyCheck {
  const validate = validators(document)
  return ({ method, path, status, type }, body) => {
    const operations = document.paths[path]
    // HEAD is described only where it differs from GET.
    const operation = operations?.[method] ?? (method === 'head' ? operations?.get : undefined)
    if (!operation) return undefined
    const at = `${method.toUpperCase()} ${path}: ${status}`
    const declared = resolved(document, (operation.responses as Json)[status])
    if (!declared) return `${at} is not declared (${body?.slice(0, 300)})`
    if (!body) return undefined
    const media = mediaFor(type, (declared as { content?: Record<string, Media> }).content)
    if (!media) return `${at} ${type} is not declared`
    if (!media.schema || !/[/+]json$/.test(type)) return undefined
    const fault = validate(media.schema, JSON.parse(body))
    return fault && `${at} ${fault} in ${body.slice(0, 500)}`
  }
}

function mediaFor(type: string, content: Record<string, Media> = {}): Media | undefined {
  return content[type] ?? content[`${type.split('/')[0]}/*`] ?? content['*/*']
}

function resolved(document: Json, given: unknown): unknown {
  const { $ref } = (given ?? {}) as { $ref?: string }
  if ($ref === undefined) return given
  const names = $ref.slice(2).split('/')
  return names.reduce((part: unknown, name) => (part as Json)[name], document)
}

/** Validates against the schemas of the document with every object closed. */
function validators(document: Json) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false })
  const { schemas } = document.components as { schemas: Record<string, Json> }
  ajv.addSchema({ $id: 'open', components: { schemas } })
  ajv.addSchema({
    $id: 'closed',
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, closed(schema)]),
      ),
    },
  })
  const compiled = new Map<Json, ValidateFunction>()
  return (schema: Json, value: unknown): string | undefined => {
    const validate = compiled.get(schema) ?? ajv.compile(closed(schema))
    compiled.set(schema, validate)
    return validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'body' })
  }
}

/** The parts of an `allOf` stay open; only the whole is closed. */
function closed(schema: Json): Json {
  const { $ref, allOf } = schema as { $ref?: string; allOf?: Json[] }
  if ($ref) return { $ref: `closed${$ref}` }
  if (allOf) {
    const parts = allOf.map((part) =>
      part.$ref ? { $ref: `open${part.$ref}` } : mapSchemas(part, closed),
    )
    return { ...schema, allOf: parts, unevaluatedProperties: false }
  }
  const inside = mapSchemas(schema, closed)
  const isOpen = 'properties' in inside && !('additionalProperties' in inside)
  return isOpen ? { ...inside, unevaluatedProperties: false } : inside
}
