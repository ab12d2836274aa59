import {
  bodyTooLarge,
  bodyTooSlow,
  type DefinedProblem,
  databaseUnavailable,
  hostAmbiguous,
  hostMissing,
  internalFailure,
  invalidRequest,
  malformedBody,
  malformedRequest,
  mediaTypeUnsupported,
  misdirected,
  storageFull,
  storageReadOnly,
  tooManyUnfinished,
} from '../../../problems.ts'
import { http } from '../../../runtime/networks.ts'
import { detailsOf, type Operation } from '../operations.ts'
import { type Components, exampleOf, type Json } from './schemas.ts'

/** How a service writes a problem: RFC 9457, unless it has a form of its own. */
export type ProblemForm = (problems: DefinedProblem[], components: Components) => Json

/** Responses by status. */
export type Responses = Record<string, { description?: string; headers: Json; content?: Json }>

const ALWAYS = [malformedRequest, hostAmbiguous, hostMissing, misdirected, internalFailure]
const WITH_DATABASE = [databaseUnavailable]
const WITH_BODY = [
  malformedBody,
  bodyTooSlow,
  bodyTooLarge,
  mediaTypeUnsupported,
  tooManyUnfinished,
]

type Context = { access: Operation['access']; database: boolean }

/** All problems that a route may answer with: those it declares, and those that are implied. */
export function problemsOf(
  { method, url, schema }: Operation,
  { access, database }: Context,
): DefinedProblem[] {
  const { body, querystring, readsQuery, headers, readsHeaders } = schema
  const isChecked =
    body ??
    querystring ??
    readsQuery ??
    headers ??
    readsHeaders ??
    (url.includes('/:') || undefined)
  return [
    ...(schema.problems ?? []),
    ...access.flatMap(({ problems }) => problems),
    ...(isChecked ? [invalidRequest] : []),
    ...ALWAYS,
    ...(database ? WITH_DATABASE : []),
    ...(method === 'GET' ? [] : [...WITH_BODY, storageFull, storageReadOnly]),
  ]
}

const HEADERS: Record<string, [description: string, schema: Json]> = {
  'X-Request-Id': ['Finds the request in the log.', { type: 'string' }],
  'Retry-After': ['Seconds to wait before the next try.', { type: 'integer', minimum: 0 }],
  'WWW-Authenticate': ['What the caller must show (RFC 9110).', { type: 'string' }],
  Location: ['Where the new resource is.', { type: 'string', format: 'uri-reference' }],
  ETag: ['A strong validator.', { type: 'string' }],
  'Last-Modified': ['When the file last changed.', { type: 'string' }],
  'Content-Disposition': ['The name of the file (RFC 6266).', { type: 'string' }],
  'Content-Range': ['Which bytes these are (RFC 9110).', { type: 'string' }],
  'Accept-Ranges': ['`bytes`: ranges may be requested.', { type: 'string', const: 'bytes' }],
  'Repr-Digest': ['The SHA-256 of the whole file (RFC 9530).', { type: 'string' }],
  'Set-Cookie': ['The cookie that belongs to the token.', { type: 'string' }],
  Link: ['Where the neighbouring pages are (RFC 8288).', { type: 'string' }],
  Vary: ['The request headers that decide what is sent.', { type: 'string' }],
  'Removed-Factors': [
    'What else was removed, if the address had never been verified: `passkeys`, `totp`.',
    { type: 'string' },
  ],
  'X-Total-Count': ['How many there are on all pages.', { type: 'integer', minimum: 0 }],
  'Cache-Control': ['How long the reply may be kept.', { type: 'string' }],
  'Tus-Resumable': ['The version of the tus protocol.', { type: 'string', const: '1.0.0' }],
  'Tus-Version': ['The versions of the tus protocol that are spoken.', { type: 'string' }],
  'Tus-Extension': ['The extensions of the tus protocol that are offered.', { type: 'string' }],
  'Tus-Max-Size': ['The largest file, in bytes.', { type: 'integer', minimum: 1 }],
  'Tus-Checksum-Algorithm': ['What `Upload-Checksum` may use.', { type: 'string' }],
  'Upload-Offset': ['How many bytes have arrived.', { type: 'integer', minimum: 0 }],
  'Upload-Length': ['How many bytes the file has.', { type: 'integer', minimum: 1 }],
  'Upload-Metadata': ['As it was sent at creation.', { type: 'string' }],
  'Upload-Expires': ['Until when the upload is remembered (an HTTP date).', { type: 'string' }],
  'X-File-Id': ['The id of the file that the upload became.', { type: 'integer', minimum: 1 }],
}

/** The headers of all replies, as components. */
export const headerComponents: Json = Object.fromEntries(
  Object.entries(HEADERS).map(([name, [description, schema]]) => [name, { description, schema }]),
)

function headersNamed(names: string[]): Json {
  const known = [...new Set(['X-Request-Id', ...names])]
  return Object.fromEntries(known.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** What the route answers when it succeeds. */
export function successResponses({ schema }: Operation, components: Components): Responses {
  const replies = Object.entries((schema.response ?? {}) as Json)
  return Object.fromEntries(
    replies.map(([status, reply]) => {
      const { description, headers = [], mediaTypes = ['application/json'] } = detailsOf(reply)
      const content = Object.fromEntries(
        mediaTypes.map((type) => [type, mediaOf(reply, components)]),
      )
      return [
        status,
        {
          description: description ?? http.STATUS_CODES[status],
          headers: headersNamed(headers),
          ...(mediaTypes.length > 0 && { content }),
        },
      ]
    }),
  )
}

/** The schema of a body and an example; raw bytes have neither. */
export function mediaOf(schema: unknown, components: Components): Json {
  if (Object.keys(schema as Json).length === 0) return {}
  return { schema: components.reference(schema), example: exampleOf(schema) }
}

/** One response for each status, with its problem codes. */
export function problemResponses(
  problems: DefinedProblem[],
  components: Components,
  form: ProblemForm = problemDetails,
): Responses {
  const byStatus = Map.groupBy(new Set(problems), ({ status }) => status)
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: descriptionOf(group),
        headers: headersNamed(group.flatMap(headersOf)),
        content: form(group, components),
      },
    ]),
  )
}

function descriptionOf(problems: DefinedProblem[]): string {
  return problems.map(({ code, detail }) => `\`${code}\`: ${detail}`).join('\n\n')
}

function headersOf({ kind }: DefinedProblem): string[] {
  const names = [...Object.keys(kind.headers ?? {}), ...(kind.sends ?? [])]
  return Object.keys(HEADERS).filter((name) => names.includes(name.toLowerCase()))
}

const PROBLEM = {
  title: 'Problem',
  type: 'object',
  description: 'What went wrong (RFC 9457). Branch on `code`; `detail` is for people.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { type: 'string', const: 'about:blank' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string' },
    instance: { type: 'string', description: 'The path of the request.' },
    code: { type: 'string', description: 'Stable, in upper case.' },
    requestId: { type: 'string' },
  },
}

function problemDetails(problems: DefinedProblem[], components: Components): Json {
  const members = Object.assign({}, ...problems.map(({ kind }) => kind.members ?? {})) as Json
  const code = { enum: [...new Set(problems.map((problem) => problem.code))] }
  const own = components.reference({ type: 'object', properties: { code, ...members } })
  const schema = { allOf: [components.reference(PROBLEM), own] }
  const examples = Object.fromEntries(
    problems.map((problem) => [problem.code, { value: exampleProblem(problem) }]),
  )
  const hasPage = problems.some(({ kind }) => kind.page)
  return {
    'application/problem+json': { schema, examples },
    ...(hasPage && { 'text/html': { schema: { type: 'string' } } }),
  }
}

function exampleProblem({ code, status, detail, kind }: DefinedProblem): Json {
  const members = Object.entries(kind.members ?? {})
  return {
    type: 'about:blank',
    title: kind.title ?? http.STATUS_CODES[status],
    status,
    detail,
    instance: '/',
    code,
    requestId: '6f1f4c8e-2a59-4f0c-9d5e-3b7a1c2d4e5f',
    ...Object.fromEntries(members.map(([name, schema]) => [name, exampleOf(schema)])),
  }
}
