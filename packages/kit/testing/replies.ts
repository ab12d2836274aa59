import { Readable } from 'node:stream'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Reply, Request, Server } from '../src/http/framework.ts'
import { type ApiDescription, openApiDocument } from '../src/http/routes/openapi/document.ts'
import { type Json, mapSchemas } from '../src/http/routes/openapi/schemas.ts'

/**
 * Compares every reply of a server with its own API document: the status and the media type are
 * declared, the body is valid, and it has no member that is not declared. Returns what lists the
 * faults, to be called once the server is closed.
 */
export function checkReplies(server: Server): () => string[] {
  const faults: string[] = []
  // A long list takes long to look at, and tests measure how long other requests wait for it.
  const later: (() => void)[] = []
  if (!server.api) return () => faults
  let check: ReplyCheck | undefined
  server.addHook('onSend', (request, reply, payload, done) => {
    const sent = replyOf(request, reply)
    const examine = (text: string | undefined) => {
      check ??= replyCheckOf(server)
      const fault = check(sent, text)
      if (fault) faults.push(fault)
    }
    if (payload instanceof Readable && isJson(reply)) {
      const chunks: Buffer[] = []
      later.push(() => examine(Buffer.concat(chunks).toString()))
      payload.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
      return done(null, payload)
    }
    examine(typeof payload === 'string' || Buffer.isBuffer(payload) ? String(payload) : undefined)
    done(null, payload)
  })
  return () => {
    for (const examine of later.splice(0)) examine()
    return faults
  }
}

type SentReply = { method: string; url: string | undefined; status: number; type: string }

/** Says what is wrong with a reply, whose body is undefined where it is no text. */
type ReplyCheck = (reply: SentReply, body: string | undefined) => string | undefined

function replyOf({ method, is404, routeOptions }: Request, reply: Reply): SentReply {
  return {
    method: method === 'HEAD' ? 'get' : method.toLowerCase(),
    url: is404 ? undefined : routeOptions.url,
    status: reply.statusCode,
    type: typeOf(reply),
  }
}

const typeOf = (reply: Reply) =>
  String(reply.getHeader('content-type') ?? '').split(';', 1)[0] ?? ''

const isJson = (reply: Reply) => /[/+]json$/.test(typeOf(reply))

/** Most tests start a service with the same routes: its check is made once for all of them. */
const checks = new Map<string, ReplyCheck>()

function replyCheckOf(server: Server): ReplyCheck {
  const api = server.api as ApiDescription
  const described = server.operations.map((each) => [each, api.accessTo?.(each.url)])
  const text = JSON.stringify([api, described])
  const check = checks.get(text) ?? newReplyCheck(openApiDocument(server.operations, api))
  checks.set(text, check)
  return check
}

type Media = { schema?: Json }

function newReplyCheck(document: ReturnType<typeof openApiDocument>): ReplyCheck {
  const validate = validators(document)
  return ({ method, url = '', status, type }, body) => {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    const operation = document.paths[path]?.[method]
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

/** Validates by a schema of the document in which every object is closed. */
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

/** Parts of an `allOf` stay open: the whole is closed. */
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
