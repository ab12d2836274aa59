import { baseUrl } from '../shared/api/base-url.ts'
import { concealBody } from '../shared/api/concealment.ts'
import { FORM } from '../shared/api/exchange-log.ts'
import {
  curlOf,
  fetchOf,
  literal,
  memberOf,
  program,
  runnable,
  UNIQUE,
} from '../shared/shell/inspector/snippets.ts'
import { api, hasSignIn, type Operation, resolved, SERVICES } from './api-document.ts'
import { CLIENT_METHODS } from './client-methods.ts'
import { bodyOf, type Draft } from './drafts.ts'
import { EXAMPLE_FILE, FREE_TEXT, type Need, UPLOAD, variableOf, withNeeds } from './needs.ts'

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
  configureLocal: ['path'],
  clientToken: ['scope'],
  introspect: ['token'],
  revoke: ['token'],
}

const FACTORIES: Record<string, string> = {
  identity: 'identityClient',
  'storage-full': 'storageClient',
  'storage-key': 'storageKeyClient',
  payments: 'paymentsClient',
}

/** A picture of one pixel, for samples that upload without a chosen file. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A command that runs unchanged: it first sets its variables. */
export function curlSample(operation: Operation, given: Draft): string {
  const { draft, needs } = withNeeds(operation, shownDraft(operation, given))
  const isExample = [draft, ...needs.map((need) => need.draft)].some(hasExampleFile)
  const first = {
    ...(isExample && { '': `printf ${PIXEL} | base64 -d > ${EXAMPLE_FILE.name}` }),
    ...Object.fromEntries(needs.map((need) => [need.name, `${need.name}=$(${curlNeed(need)})`])),
  }
  const command = curlOf(exchangeOf(operation, draft), baseUrl) + printed(operation)
  return runnable(command, baseUrl, hasSignIn(), first)
}

function curlNeed({ from, draft, member, isLast }: Need): string {
  const command = curlOf(exchangeOf(from, draft), baseUrl).replace('curl', 'curl -s')
  return `${command} | ${member ? memberOf(member, isLast ? 'tail' : 'head') : `tr -d '"'`}`
}

/** Shows the status where there is no text to show. */
function printed(operation: Operation): string {
  const types = typesOf(operation)
  const isText = types.every((type) => /json|^text/.test(type))
  if ((isText && types.length > 0) || operation.method === 'HEAD') return ''
  if (isText || types.includes('')) return " \\\n  -w '%{http_code}\\n'"
  return " \\\n  -o reply.bin -w '%{http_code} %{content_type}, %{size_download} bytes\\n'"
}

/** The types of what the operation answers with; '' if that may be nothing. */
function typesOf({ responses }: Operation): string[] {
  const successes = Object.entries(responses).filter(([status]) => /^(2|302)/.test(status))
  return successes.flatMap(([, success]) => {
    const types = Object.keys(resolved(success).content ?? {})
    return types.length === 0 ? [''] : types
  })
}

/** Code with our client, or with fetch for operations that the client does not have. */
export function clientSample(operation: Operation, given: Draft): string {
  const { draft, needs } = withNeeds(operation, shownDraft(operation, given))
  const factory = FACTORIES[SERVICES[api.value?.info.title ?? ''] ?? '']
  if (!factory || !(operation.operationId in CLIENT_METHODS))
    return program(fetchSteps(operation, draft, needs), { baseUrl, signsIn: hasSignIn() })
  const [keys, others] = [needs.filter(isKey), needs.filter((need) => !isKey(need))]
  const signsIn = [operation, ...others.map(({ from }) => from)].some(isSignedIn)
  const code = [
    ...(keys.length > 0 ? opened('admin', factory, '', true) : []),
    ...keys.map((need) => clientNeed(need, 'admin')),
    ...opened('client', factory, credentialOf(operation), signsIn),
    ...[...needs.map((need) => need.draft), draft].flatMap(fileOf).slice(0, 1),
    ...others.map((need) => clientNeed(need, 'client')),
    ...printedCall(
      operation,
      `await client.${methodOf(operation, draft)}(${argumentsOf(operation, draft)})`,
    ),
  ].join('\n')
  return program(code, {
    baseUrl,
    signsIn: hasSignIn(),
    imports: [`import { ${factory} } from '@plinth/client'`],
  })
}

function opened(name: string, factory: string, credential: string, signsIn: boolean): string[] {
  return [
    `const ${name} = ${factory}('${baseUrl}'${credential})`,
    ...(signsIn ? [`await ${name}.logIn(USERNAME, PASSWORD)`] : []),
  ]
}

function printedCall(operation: Operation, call: string): string[] {
  const types = typesOf(operation)
  if (types.every((type) => type === '')) return [call, "console.log('Done.')"]
  if (types.includes('text/event-stream'))
    return [`const { body } = ${call}`, 'for await (const part of body) process.stdout.write(part)']
  const isText = types.some((type) => /json|^text/.test(type))
  const print = types.includes('') ? "console.log(reply ?? 'Done.')" : 'console.log(reply)'
  return [`const reply = ${call}`, isText ? print : PRINTED_BYTES]
}

const itemOf = ({ list = '', isLast = false }: Pick<Need, 'list' | 'isLast'>) =>
  `${list && `.${list}`}.at(${isLast ? -1 : 0})`

const PRINTED_BYTES =
  "console.log(reply.status, reply.headers.get('content-type'), (await reply.arrayBuffer()).byteLength)"

function clientNeed({ name, from, draft, member, ...need }: Need, client: string): string {
  const call = `await ${client}.${methodOf(from, draft)}(${argumentsOf(from, draft)})`
  if (!member) return `const ${name} = ${call}`
  const item = need.list === undefined ? call : `(${call})${itemOf(need)}`
  return `const { ${member}: ${name} } = ${item}`
}

/** With fetch, what is needed first is only asked for. */
function fetchSteps(operation: Operation, draft: Draft, needs: Need[]): string {
  const keys = needs.map(({ name, from, draft: first, member, ...need }) => {
    const call = fetchOf(exchangeOf(from, first), baseUrl)
      .replace(/\nconsole\.log.*$/, '')
      .replace('const reply', `const reply${name}`)
    const items = need.list === undefined ? '' : itemOf(need)
    return `${call}\nconst ${name} = (await reply${name}.json())${items}${member ? `.${member}` : ''}`
  })
  return [...keys, fetchOf(exchangeOf(operation, draft), baseUrl)].join('\n')
}

const isKey = ({ name }: Need) => name === 'SERVICE_KEY'
const isForKeys = ({ security }: Operation) => security[0]?.client !== undefined

function isSignedIn(operation: Operation): boolean {
  const { operationId, security } = operation
  // Some methods take no arguments because the client knows the tokens of its session.
  const needsSession = security.length > 0 || TAKES[operationId]?.length === 0
  const isOpen = operationId === 'logIn' || isForKeys(operation)
  const isCeremony = security.length === 1 && Object.keys(security[0] ?? {}).join() === 'csrf'
  return hasSignIn() && needsSession && !isOpen && !isCeremony
}

/** The credential argument of a client that cannot sign in. */
function credentialOf(operation: Operation): string {
  const names = Object.keys(operation.security[0] ?? {})
  if (names.includes('key')) return ', API_KEY'
  // The key is a required argument of this client.
  if (names.length === 0 && !hasSignIn() && isKeyEdition()) return ", ''"
  if (isForKeys(operation)) return ', { accessToken: SERVICE_KEY }'
  return names.length > 0 && !hasSignIn() ? ', { accessToken: SERVICE_KEY }' : ''
}

const isKeyEdition = () => SERVICES[api.value?.info.title ?? ''] === 'storage-key'

/** Parameters that choose between two client methods of one operation. */
const CHOOSES: Record<string, { name: string; method: string }> = {
  remove: { name: 'restorable', method: 'files.deleteRestorably' },
  deleteFolder: { name: 'recursive', method: 'folders.deleteWithFiles' },
}

function methodOf({ operationId }: Operation, { values }: Draft): string {
  const chooses = CHOOSES[operationId]
  if (chooses && values[chooses.name] === 'true') return chooses.method
  return CLIENT_METHODS[operationId] ?? operationId
}

const hasExampleFile = ({ file }: Draft) => file === EXAMPLE_FILE

function fileOf(draft: Draft): string[] {
  const { file } = draft
  if (!file) return []
  const type = `{ type: '${file.type}' }`
  return hasExampleFile(draft)
    ? [`const file = new Blob([Buffer.from('${PIXEL}', 'base64')], ${type})`]
    : [`const file = await openAsBlob(${literal(file.name)}, ${type})`]
}

function argumentsOf(operation: Operation, draft: Draft): string {
  const { operationId, parameters = [] } = operation
  const at = (place: string) =>
    parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
  const fromPath = at('path').map((name) => typed(draft.values[name] ?? ''))
  if (draft.file) {
    const { folder } = draft.values
    const options = folder ? [literal({ folder })] : []
    return [...fromPath.map(plain), 'file', `'${draft.file.name}'`, ...options].join(', ')
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
  return given.map((value) => (value === undefined ? 'undefined' : plain(value))).join(', ')
}

function fromBody(operation: Operation, body: unknown): unknown[] {
  if (body === undefined) return []
  // For a passkey, the client builds the outer object itself.
  const { publicKey = body } = body as { publicKey?: unknown }
  const members = publicKey as Record<string, unknown>
  const schema = bodyOf(operation)?.media.schema
  const known = Object.keys((schema && resolved(schema).properties) ?? {})
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

const plain = (value: unknown) => literal(value).replaceAll(/"(\w+)":/g, '$1:')

/** What a sample fills in by itself where the page still shows the example of the document. */
const FILLED: Record<string, string> = {
  'logIn username': '$USERNAME',
  'logIn password': '$PASSWORD',
  'reauthenticate password': '$PASSWORD',
  'changePassword currentPassword': '$PASSWORD',
  'refresh refreshToken': '$REFRESH_TOKEN',
  'logOut refreshToken': '$REFRESH_TOKEN',
  'introspect token': '$ACCESS_TOKEN',
  'revoke token': '$ACCESS_TOKEN',
  'register username': `ada-$${UNIQUE}`,
  'register email': `ada-$${UNIQUE}@example.com`,
  'createUser username': `ada-$${UNIQUE}`,
  'createUser email': `ada-$${UNIQUE}@example.com`,
  'changeEmail newEmail': `ada-$${UNIQUE}@example.com`,
  'checkOut businessReference': `order-$${UNIQUE}`,
  'moveFolder to': `/archive/$${UNIQUE}`,
}

/** Free text without an example, and codes from a mail or an authenticator. */
const UNKNOWN: unknown[] = [FREE_TEXT, '1234-5678', '123456', '7KQ2-M9XD-4HTZ8']

/** The same request, safe to paste anywhere. */
function shownDraft(operation: Operation, draft: Draft): Draft {
  const isUpload = operation.requestBody?.content[UPLOAD] !== undefined
  const file = isUpload ? (draft.file ?? EXAMPLE_FILE) : undefined
  return { ...draft, file, body: shownBody(operation, draft.body) }
}

function shownBody(operation: Operation, body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  const example = (bodyOf(operation)?.media.example ?? {}) as Record<string, unknown>
  const concealed = concealBody(body) as Record<string, unknown>
  const members = Object.entries(body).map(([name, value]) => {
    if (JSON.stringify(value) !== JSON.stringify(example[name])) return [name, concealed[name]]
    const filled = FILLED[`${operation.operationId} ${name}`]
    return [name, filled ?? (UNKNOWN.includes(value) ? `$${variableOf(name)}` : value)]
  })
  return Object.fromEntries(members)
}

function exchangeOf(operation: Operation, { path, headers, body, file }: Draft) {
  const type = bodyOf(operation)?.isForm ? FORM : 'application/json'
  const all = { ...shownHeaders(operation), ...headers }
  return {
    id: 0,
    method: operation.method,
    path,
    requestHeaders: body === undefined ? all : { 'Content-Type': type, ...all },
    requestBody: body,
    requestFile: file,
    resend: () => {},
  }
}

/** The headers that a request needs, with placeholders instead of secrets. */
function shownHeaders({ security }: Operation): Record<string, string> {
  const names = Object.keys(security[0] ?? {})
  return {
    ...(names.some((name) => /bearer|serviceKey/.test(name)) && {
      Authorization: hasSignIn() ? 'Bearer $ACCESS_TOKEN' : 'Bearer $SERVICE_KEY',
    }),
    ...(names.includes('client') && { Authorization: 'Bearer $SERVICE_KEY' }),
    ...(names.includes('key') && { 'X-API-KEY': '$API_KEY' }),
    ...(names.includes('csrf') && { 'X-XSRF-TOKEN': '$CSRF_TOKEN' }),
  }
}
