import { baseUrl } from '../shared/api/base-url.ts'
import { NAMES, publicValues } from '../shared/api/concealment.ts'
import { FORM } from '../shared/api/exchange-log.ts'
import { curlOf, fetchOf, runnable } from '../shared/shell/inspector/snippets.ts'
import { api, hasSignIn, type Media, type Operation, SERVICES } from './api-document.ts'
import { clientMethod } from './client-methods.ts'

/** A request as it is filled in on the page. */
export type Draft = {
  path: string
  headers: Record<string, string>
  /** Sent as JSON, or as a form if the operation takes one. */
  body?: unknown
  file?: { name: string; type: string }
  /** The parameters by name. */
  values: Record<string, string>
}

/** The kind of body whose members can be typed in: JSON or a form. */
export function bodyOf({ requestBody }: Operation): { media: Media; isForm: boolean } | undefined {
  const [json, form] = ['application/json', FORM].map((type) => requestBody?.content[type])
  const media = json ?? form
  return media && { media, isForm: !json }
}

/** Builds the request from these values. */
export function draftOf(
  { path, parameters = [] }: Operation,
  values: Record<string, string>,
  body: unknown,
  file?: { name: string; type: string },
): Draft {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''))
  const given = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place && values[parameter.name])
      .map(({ name }) => [name, values[name] ?? ''])
  const query = new URLSearchParams(given('query')).toString()
  return {
    path: query === '' ? filled : `${filled}?${query}`,
    headers: Object.fromEntries(given('header')),
    body,
    file,
    values,
  }
}

const REST = '…'

/** The body members that a client method takes as arguments, if they are neither the whole body nor its only member. */
const TAKES: Record<string, string[]> = {
  logIn: ['username', 'password'],
  refresh: [],
  logOut: [],
  changePassword: ['currentPassword', 'newPassword'],
  completeLogIn: ['mfaToken', REST],
  signInByCode: ['requestToken', 'code'],
  confirmPasswordReset: [REST, 'newPassword'],
  resetPasswordOfUser: ['reason', REST],
  addPasskey: ['credential', 'label'],
  createLink: ['id', 'expiresInSeconds'],
  clientToken: ['scope'],
  introspect: ['token'],
  revoke: ['token'],
}

/** The steps of a resumable upload, which the client takes by itself. */
const STEPS = ['uploadOffer', 'createUpload', 'uploadState', 'appendToUpload']

/**
 * Pages for people, what their scripts call, what the libraries of other applications call, and the operation that
 * only the payment provider calls.
 */
const NOT_IN_CLIENT = [
  'console',
  'accountPages',
  'reference',
  'authorize',
  'authorizeByForm',
  'authorizationAnswer',
  'authorization',
  'decideAuthorization',
  'authorizeDevice',
  'openDeviceAuthorization',
  'pushAuthorizationRequest',
  'userInfoByForm',
  'signOut',
  'signOutByForm',
  'confirmSignOut',
  'providerWebhook',
  ...STEPS,
]

const FACTORIES: Record<string, string> = {
  identity: 'identityClient',
  'storage-full': 'storageClient',
  'storage-key': 'storageKeyClient',
  payments: 'paymentsClient',
}

/** A command that runs unchanged: it first sets its variables. */
export function curlSample(operation: Operation, draft: Draft): string {
  return runnable(curlOf(exchangeOf(operation, draft), baseUrl), baseUrl, hasSignIn())
}

/** Code with our client, or with fetch for operations that the client does not have. */
export function clientSample(operation: Operation, draft: Draft): string {
  const { operationId } = operation
  const service = SERVICES[api.value?.info.title ?? ''] ?? ''
  const factory = FACTORIES[service]
  if (!factory || NOT_IN_CLIENT.includes(operationId))
    return fetchOf(exchangeOf(operation, draft), baseUrl)
  const given = argumentsOf(operation, draft).join(', ')
  const { file } = draft
  const calls = [
    `const client = ${factory}('${baseUrl}'${credentialOf(operation)})`,
    ...(isSignedIn(operation) ? ['await client.logIn(USERNAME, PASSWORD)'] : []),
    ...(file ? [`const file = await openAsBlob('${file.name}', { type: '${file.type}' })`] : []),
    `const reply = await client.${methodOf(operation, draft)}(${given})`,
  ].join('\n')
  return [
    ...(file ? ["import { openAsBlob } from 'node:fs'"] : []),
    `import { ${factory} } from '@plinth/client'`,
    '',
    ...[...new Set(calls.match(VARIABLE))].map(
      (name) => `const ${name} = '${publicValues[name] ?? '…'}'`,
    ),
    calls,
  ].join('\n')
}

const VARIABLE = new RegExp(`\\b(?:USERNAME|${NAMES})\\b`, 'g')

const isForKeys = ({ security }: Operation) => security[0]?.client !== undefined

function isSignedIn(operation: Operation): boolean {
  const { operationId, security } = operation
  // Some methods take no arguments because the client knows the tokens of its session.
  const needsSession = security.length > 0 || TAKES[operationId]?.length === 0
  return hasSignIn() && needsSession && operationId !== 'logIn' && !isForKeys(operation)
}

/** The credential argument of a client that cannot sign in. */
function credentialOf(operation: Operation): string {
  const names = Object.keys(operation.security[0] ?? {})
  if (names.includes('key')) return ', API_KEY'
  // The key is a required argument of this client.
  if (names.length === 0 && !hasSignIn() && isKeyEdition()) return ", ''"
  if (isForKeys(operation)) return ', { accessToken: SERVICE_KEY }'
  return names.length > 0 && !hasSignIn() ? ', { accessToken: ACCESS_TOKEN }' : ''
}

const isKeyEdition = () => SERVICES[api.value?.info.title ?? ''] === 'storage-key'

/** Parameters that choose between two client methods of one operation. */
const CHOOSES: Record<string, { name: string; method: string }> = {
  remove: { name: 'restorable', method: 'files.deleteRestorably' },
  deleteFolder: { name: 'recursive', method: 'folders.deleteWithFiles' },
}

function methodOf({ operationId }: Operation, { values }: Draft): string {
  const chooses = CHOOSES[operationId]
  return chooses && values[chooses.name] === 'true' ? chooses.method : clientMethod(operationId)
}

function argumentsOf(operation: Operation, draft: Draft): string[] {
  const { operationId, parameters = [] } = operation
  const at = (place: string) =>
    parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
  const fromPath = at('path').map((name) => typed(draft.values[name] ?? ''))
  if (draft.file) {
    const { folder } = draft.values
    const chosen = ['file', `'${draft.file.name}'`, ...(folder ? [literal({ folder })] : [])]
    return [...fromPath.map(literal), ...chosen]
  }
  const given = [
    ...fromPath,
    ...fromBody(operation, draft.body),
    ...fromQuery(
      at('query').filter((name) => name !== CHOOSES[operationId]?.name),
      draft.values,
    ),
    ...(operationId === 'createCustomer' ? [draft.values['idempotency-key'] || undefined] : []),
  ]
  while (given.length > 0 && given.at(-1) === undefined) given.pop()
  return given.map((value) => (value === undefined ? 'undefined' : literal(value)))
}

function fromBody(operation: Operation, body: unknown): unknown[] {
  if (body === undefined) return []
  // For a passkey, the client builds the outer object itself.
  const { publicKey = body } = body as { publicKey?: unknown }
  const members = publicKey as Record<string, unknown>
  const known = Object.keys((bodyOf(operation)?.media.example as object | undefined) ?? {})
  const taken = TAKES[operation.operationId] ?? (known.length === 1 ? known : undefined)
  if (!taken) return [body]
  const rest = Object.entries(members).filter(([name]) => !taken.includes(name))
  return taken.map((name) => {
    if (name !== REST) return members[name]
    return rest.length > 0 ? Object.fromEntries(rest) : undefined
  })
}

/** A method with several query parameters takes an object, one with a single parameter its value. */
function fromQuery(names: string[], values: Record<string, string>): unknown[] {
  const given = names.filter((name) => values[name])
  if (given.length === 0) return []
  if (names.length === 1) return given.map((name) => values[name])
  return [Object.fromEntries(given.map((name) => [name, listed(name, values[name] ?? '')]))]
}

const listed = (name: string, text: string) => (name === 'sort' ? [text] : text)

const typed = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : text)

function literal(value: unknown): string {
  const text = JSON.stringify(value, null, 2).replaceAll(/"(\w+)":/g, '$1:')
  return text.replaceAll(/"\$([A-Z_]+)"/g, '$1')
}

function exchangeOf(operation: Operation, { path, headers, body, file }: Draft) {
  const type = bodyOf(operation)?.isForm ? FORM : 'application/json'
  return {
    id: 0,
    method: operation.method,
    path,
    requestHeaders: body === undefined ? headers : { 'Content-Type': type, ...headers },
    requestBody: body,
    requestFile: file,
    resend: () => {},
  }
}
