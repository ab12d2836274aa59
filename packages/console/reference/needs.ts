import { UNIQUE } from '../shared/shell/inspector/snippets.ts'
import {
  type ApiDocument,
  api,
  type Operation,
  operationsOf,
  resolved,
  type Schema,
} from './api-document.ts'
import { bodyOf, type Draft, draftOf } from './drafts.ts'

/** A value that a sample gets with another operation first, such as the id of an endpoint that it creates. */
export type Need = {
  /** The variable. */
  name: string
  from: Operation
  draft: Draft
  /** The member of the reply; the whole reply if it is a text. */
  member: string | undefined
  /** The member of the reply that lists the items, or '' if the reply is the list. */
  list?: string
  /** Of a list, the last item: among users, that is not the administrator who asks. */
  isLast?: boolean
}

type Source = {
  operation: string
  member?: string
  /** Called before, because there would be nothing to list: the variable and the member of its reply. */
  after?: { operation: string; variable: string; member: string }
  isLast?: boolean
}

/** Where ids come from if the folder above them does not tell. */
const SOURCES: Record<string, Source> = {
  '/file/stream': { operation: 'upload', member: 'id' },
  '/file/download': { operation: 'upload', member: 'id' },
  '/file/thumbnail': { operation: 'upload', member: 'id' },
  '/file/picture': { operation: 'upload', member: 'id' },
  '/file/info': { operation: 'upload', member: 'id' },
  '/file/presigned': { operation: 'createLink', member: 'token' },
  '/file/{id}/links': {
    operation: 'links',
    member: 'id',
    after: { operation: 'createLink', variable: 'LINK_TOKEN', member: 'token' },
  },
  // The last is the oldest; the current one can be neither restored nor deleted.
  '/file/{id}/versions': {
    operation: 'versions',
    member: 'version',
    after: { operation: 'replace', variable: 'REPLACED_ID', member: 'id' },
    isLast: true,
  },
  '/api/payments': { operation: 'checkOut', member: 'paymentId' },
  '/api/users': { operation: 'users', member: 'id', isLast: true },
  '/api/users/me/sessions': { operation: 'sessions', member: 'id' },
  '/api/users/{id}/sessions': { operation: 'sessionsOfUser', member: 'id' },
  '/api/events': { operation: 'testWebhookEndpoint', member: 'eventId' },
}

const OWN_FILE = { operation: 'upload', member: 'id', variable: 'FILE_ID' }
const OWN_FOLDER = { operation: 'createFolder', member: 'path', variable: 'FOLDER_PATH' }

/** The members of bodies and queries that name something which must be there. */
const NAMED: Record<string, Source & { variable: string }> = {
  'createLink id': OWN_FILE,
  'createZip ids': OWN_FILE,
  'bulk ids': OWN_FILE,
  'moveFolder from': OWN_FOLDER,
  'deleteFolder path': OWN_FOLDER,
  'replayEvent endpointId': {
    operation: 'createWebhookEndpoint',
    member: 'id',
    variable: 'ENDPOINT_ID',
  },
}

/** Members that differ each time, of what is called first: an older folder of that name may have files in it. */
const FRESH: Record<string, object> = { createFolder: { path: `/holidays/$${UNIQUE}` } }

/** What the document has for a text without an example of its own. */
export const FREE_TEXT = 'text'

/** What only a state that these operations cannot create would answer to: the sample asks for its id. */
const ASKED = [
  'authorization',
  'decideAuthorization',
  'refund',
  'restore',
  'uploadById',
  'uploadState',
  'appendToUpload',
  'cancelUpload',
]

/** The administrator who asks certainly has a session. */
const WITH_SESSIONS = ['sessionsOfUser', 'endSessionOfUser']

/** Of parameters that are optional one by one, the one that the sample uses. */
const CHOSEN: Record<string, Record<string, string>> = {
  picture: { width: '640' },
  openLinkAsPicture: { width: '640' },
}

/** `CLIENT_ID` for `clientId`. */
export const variableOf = (name: string) =>
  name.replaceAll(/[A-Z]/g, '_$&').replaceAll('-', '_').toUpperCase()

/** `USER_ID` for the id in `/api/users/{id}`. */
function variableAt(path: string, parameter: string): string {
  if (parameter !== 'id') return variableOf(parameter === 'token' ? 'linkToken' : parameter)
  const folder = path.slice(0, path.indexOf('/{id}')).split('/')
  const thing =
    folder[1] === 'file' ? 'file' : folder.at(-1)?.replace(/ies$/, 'y').replace(/s$/, '')
  return variableOf(`${thing}Id`)
}

/**
 * The request with variables for everything that is still the made-up example of the document, and what has to be
 * called first to set them. A variable without such a call is set by the sample itself, or asked for.
 */
export function withNeeds(operation: Operation, draft: Draft): { draft: Draft; needs: Need[] } {
  const needs: Need[] = []
  const values = { ...CHOSEN[operation.operationId], ...draft.values }
  for (const { name, in: place, example } of operation.parameters ?? []) {
    if (values[name] !== String(example)) continue
    if (place === 'query' && example === FREE_TEXT) values[name] = `$${variableOf(name)}`
    const named = NAMED[`${operation.operationId} ${name}`]
    if (place !== 'path' && !named) continue
    const variable = named?.variable ?? variableAt(operation.path, name)
    needs.push(...(needOf(operation, variable, named ?? sourceOf(operation, name)) ?? []))
    values[name] = `$${variable}`
  }
  const body = bodyWithNeeds(operation, draft.body, needs)
  if (operation.security[0]?.client !== undefined) {
    const key = needOf(operation, 'SERVICE_KEY', {
      operation: 'createServiceKey',
      member: 'secret',
    })
    needs.unshift(...(key ?? []))
  }
  const filled = draftOf(operation, values, body, draft.file)
  return {
    draft: { ...filled, headers: { ...draft.headers, ...filled.headers } },
    needs: unique(needs),
  }
}

function bodyWithNeeds({ operationId, ...operation }: Operation, body: unknown, needs: Need[]) {
  if (typeof body !== 'object' || body === null) return body
  const members = Object.entries(body).map(([name, value]) => {
    const source = NAMED[`${operationId} ${name}`]
    const need = source && needOf({ operationId, ...operation }, source.variable, source)
    if (!need) return [name, value]
    needs.push(...need)
    const isNumber = typeof [value].flat()[0] === 'number'
    const variable = `$${source.variable}${isNumber ? '#' : ''}`
    return [name, Array.isArray(value) ? [variable] : variable]
  })
  return Object.fromEntries(members)
}

const unique = (needs: Need[]) => [...new Map(needs.map((need) => [need.name, need])).values()]

function sourceOf({ operationId, path }: Operation, parameter: string): Source | undefined {
  if (ASKED.includes(operationId)) return undefined
  const folder = path.slice(0, path.indexOf(`/{${parameter}}`))
  const known = SOURCES[folder]
  if (known) return WITH_SESSIONS.includes(operationId) ? { ...known, isLast: false } : known
  const here = all().filter((each) => each.path === folder)
  const created = here.find(
    (each) =>
      each.method === 'POST' && (memberIn(each, parameter) || replyOf(each)?.type === 'string'),
  )
  return created && { operation: created.operationId, member: memberIn(created, parameter) ?? 'id' }
}

function needOf(
  operation: Operation,
  name: string,
  source: Source | undefined,
): Need[] | undefined {
  const from = all().find((each) => each.operationId === source?.operation)
  if (!from || !source || from.operationId === operation.operationId) return undefined
  const values = Object.fromEntries(
    (from.parameters ?? [])
      .filter(({ required }) => required)
      .map((parameter) => [parameter.name, String(parameter.example ?? '')]),
  )
  const isUpload = from.requestBody?.content[UPLOAD] !== undefined
  const drafted = draftOf(from, values, bodyWithFresh(from), isUpload ? EXAMPLE_FILE : undefined)
  const { draft, needs } = withNeeds(from, drafted)
  const before = source.after && needOf(operation, source.after.variable, source.after)
  const isText = replyOf(from)?.type === 'string'
  const member = isText ? undefined : source.member
  const need = { name, from, draft, member, list: listIn(from) }
  return [...needs, ...(before || []), { ...need, isLast: source.isLast ?? false }]
}

function bodyWithFresh(from: Operation): unknown {
  const example = bodyOf(from)?.media.example
  const fresh = FRESH[from.operationId]
  return fresh ? { ...(example as object), ...fresh } : example
}

export const UPLOAD = 'multipart/form-data'
export const EXAMPLE_FILE = { name: 'picture.png', type: 'image/png' }

const all = () => (api.value ? operationsOf(api.value as ApiDocument) : [])

function replyOf({ responses }: Operation): Schema | undefined {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const content = success && resolved(success).content
  const schema = (content?.['application/json'] ?? content?.['text/plain'])?.schema
  return schema && resolved(schema)
}

function memberIn(operation: Operation, parameter: string): string | undefined {
  const { properties = {} } = replyOf(operation) ?? {}
  return [parameter, 'id'].find((name) => name in properties)
}

/** Where the items of a list are; undefined if the reply is none. */
function listIn(operation: Operation): string | undefined {
  const schema = replyOf(operation)
  if (schema?.type === 'array') return ''
  return ['content', 'items'].find((name) => name in (schema?.properties ?? {}))
}
