import type * as client from '@plinth/client'
import { baseUrl } from '../shared/api/base-url.ts'
import { NAMES, publicValues } from '../shared/api/concealment.ts'
import { curlOf, fetchOf, runnable } from '../shared/shell/inspector/snippets.ts'
import { api, hasSignIn, type Operation, SERVICES } from './api-document.ts'

/** A request as the form on the page has it. */
export type Draft = {
  path: string
  headers: Record<string, string>
  json?: unknown
  file?: { name: string; type: string }
  /** The parameters by name. */
  values: Record<string, string>
}

type Clients = ReturnType<
  | typeof client.identityClient
  | typeof client.storageClient
  | typeof client.storageKeyClient
  | typeof client.paymentsClient
>
type Method<Client> = Client extends unknown ? keyof Client : never

/** What a method of the client takes: parameters, then the body or the query, unless it says more. */
const METHODS = {
  ...{ register: 'usual', logIn: 'members', refresh: 'nothing', logOut: 'nothing', me: 'nothing' },
  ...{ users: 'usual', updateUser: 'usual', sessions: 'nothing', endSession: 'usual' },
  ...{ changePassword: 'members', passkeys: 'nothing', passkeyCreationOptions: 'nothing' },
  ...{ removePasskey: 'usual', passkeyRequestOptions: 'nothing', logInWithPasskey: 'usual' },
  ...{ audit: 'usual', upload: 'file', files: 'usual', file: 'usual', download: 'usual' },
  ...{ stream: 'usual', thumbnail: 'usual', remove: 'usual', createLink: 'members' },
  ...{ openLink: 'usual', list: 'nothing', info: 'usual', configuration: 'nothing' },
  ...{ createCustomer: 'usual', customer: 'usual', checkOut: 'usual', payment: 'usual' },
  ...{ refund: 'usual', refundState: 'usual' },
} satisfies Partial<Record<Method<Clients>, 'usual' | 'members' | 'nothing' | 'file'>>

const FACTORIES: Record<string, string> = {
  identity: 'identityClient',
  'storage-full': 'storageClient',
  'storage-key': 'storageKeyClient',
  payments: 'paymentsClient',
}

/** A command that runs as it is: it begins with what sets its variables. */
export function curlSample({ method }: Operation, draft: Draft): string {
  return runnable(curlOf(exchangeOf(method, draft), baseUrl), baseUrl, hasSignIn())
}

/** With our client where it has the call, and with fetch where it has not. */
export function clientSample(operation: Operation, draft: Draft): string {
  const { operationId, method } = operation
  const service = SERVICES[api.value?.info.title ?? ''] ?? ''
  const factory = FACTORIES[service]
  const isKnown = operationId in METHODS && !/^\/actuator/.test(operation.path)
  if (!factory || !isKnown) return fetchOf(exchangeOf(method, draft), baseUrl)
  const given = argumentsOf(operation, draft).join(', ')
  const { file } = draft
  const calls = [
    `const client = ${factory}('${baseUrl}'${credentialOf(operation)})`,
    ...(isSignedIn(operation) ? ['await client.logIn(USERNAME, PASSWORD)'] : []),
    ...(file ? [`const file = await openAsBlob('${file.name}', { type: '${file.type}' })`] : []),
    `const reply = await client.${operationId}(${given})`,
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

function isSignedIn({ operationId, security }: Operation): boolean {
  return hasSignIn() && security.length > 0 && operationId !== 'logIn'
}

/** What a client is made with, where it cannot sign in. */
function credentialOf({ security }: Operation): string {
  const names = Object.keys(security[0] ?? {})
  if (names.includes('key')) return ', API_KEY'
  return names.length > 0 && !hasSignIn() ? ', { accessToken: ACCESS_TOKEN }' : ''
}

function argumentsOf({ operationId, parameters = [] }: Operation, draft: Draft): string[] {
  const takes = METHODS[operationId as keyof typeof METHODS]
  const json = (draft.json ?? {}) as Record<string, unknown>
  if (takes === 'nothing') return []
  if (takes === 'file') return ['file', `'${draft.file?.name ?? 'picture.png'}'`]
  if (takes === 'members') return Object.values(json).map(literal)
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter(
    ({ in: place, name }) => place === 'query' && draft.values[name],
  )
  const query = Object.fromEntries(inQuery.map(({ name }) => [name, draft.values[name]]))
  return [
    ...inPath.map(({ name }) => literal(typed(draft.values[name] ?? ''))),
    ...(draft.json === undefined ? [] : [literal(draft.json)]),
    ...(inQuery.length > 0 ? [literal(query)] : []),
  ]
}

const typed = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : text)

function literal(value: unknown): string {
  const text = JSON.stringify(value, null, 2).replaceAll(/"(\w+)":/g, '$1:')
  return text.replaceAll(/"\$([A-Z_]+)"/g, '$1')
}

function exchangeOf(method: string, { path, headers, json, file }: Draft) {
  const withType = json === undefined ? headers : { 'Content-Type': 'application/json', ...headers }
  return {
    id: 0,
    method,
    path,
    requestHeaders: withType,
    requestBody: json,
    requestFile: file,
    resend: () => {},
  }
}
