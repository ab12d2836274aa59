import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { identityClient, paymentsClient, storageClient, storageKeyClient } from '@plinth/client'
import { clientMethods, METHODS_FILE } from './client-methods.ts'
import { FOLDER } from './openapi.ts'

type Media = { example?: unknown }
type Answer = { content?: Record<string, Media> }
type Operation = {
  operationId: string
  method: string
  path: string
  responses: Record<string, Answer>
  parameters?: { name: string; example?: unknown }[]
  requestBody?: { content: Record<string, Media> }
}
type File = { name: string; type: string }
type Draft = { path: string; body?: unknown }
/** The part of the page that is used here. Its own types need the DOM. */
type ReferencePage = {
  api: { value: object }
  operationsOf(document: object): Operation[]
  bodyOf(operation: Operation): { media: Media } | undefined
  draftOf(operation: Operation, values: object, body: unknown, file?: File): Draft
  clientSample(operation: Operation, draft: Draft): string
}

// The browser globals that the page's modules need when they load.
Object.assign(globalThis, {
  document: { documentElement: { dataset: { base: '..' } } },
  location: { href: 'http://localhost/reference/' },
})
const PAGE = join(import.meta.dirname, '../../packages/console/reference')
const { api, operationsOf, bodyOf, draftOf, clientSample }: ReferencePage = {
  ...(await import(`${PAGE}/api-document.ts`)),
  ...(await import(`${PAGE}/drafts.ts`)),
  ...(await import(`${PAGE}/code-samples.ts`)),
}

/** A request with the names of what it sends: a sample may fill in values that the page cannot know. */
type Sent = { operation: string | undefined; query: string[]; body: string[] | string | undefined }

const FILE = { name: 'picture.png', type: 'image/png' }
/** Operations whose samples do not use the client. */
const WITHOUT_CLIENT = [
  'accountPages',
  'appendToUpload',
  'authorization',
  'authorizationAnswer',
  'authorize',
  'authorizeByForm',
  'authorizeDevice',
  'confirmSignOut',
  'console',
  'createUpload',
  'decideAuthorization',
  'openDeviceAuthorization',
  'providerWebhook',
  'pushAuthorizationRequest',
  'reference',
  'registerClient',
  'signOut',
  'signOutByForm',
  'uploadOffer',
  'uploadState',
  'userInfoByForm',
]
describe('the client code samples of the reference page', () => {
  test('know the methods of the client; `node test/documents/openapi.ts` updates them', () => {
    assert.equal(readFileSync(METHODS_FILE, 'utf8'), clientMethods(FOLDER))
  })

  for (const service of ['identity', 'storage-full', 'storage-key', 'payments'])
    test(`${service}: send every operation as documented`, async () => {
      const document = JSON.parse(readFileSync(join(FOLDER, `${service}.json`), 'utf8'))
      api.value = document
      const operations = operationsOf(document)
      const withoutClient: string[] = []

      for (const operation of operations) {
        const { operationId, parameters = [], requestBody } = operation
        const shown = parameters.filter(({ example }) => example !== undefined)
        const values = Object.fromEntries(shown.map(({ name, example }) => [name, String(example)]))
        const file = requestBody?.content['multipart/form-data'] && FILE
        const draft = draftOf(operation, values, bodyOf(operation)?.media.example, file)
        const code = clientSample(operation, draft)
        if (!code.includes('@plinth/client')) withoutClient.push(operationId)
        const sent = await run(code, operations)
        assert.deepEqual(sent.at(-1), expected(operation, draft), `${operationId}\n${code}`)
      }

      const known = operations.map(({ operationId }) => operationId)
      assert.deepEqual(
        withoutClient.sort(),
        WITHOUT_CLIENT.filter((name) => known.includes(name)),
      )
    })
})

function expected(operation: Operation, draft: Draft): Sent {
  const { searchParams } = new URL(draft.path, 'http://localhost')
  return {
    operation: operation.operationId,
    query: [...searchParams.keys()].sort(),
    body: operation.requestBody?.content['multipart/form-data'] ? 'a file' : membersOf(draft.body),
  }
}

const membersOf = (body: unknown) =>
  body === undefined ? undefined : Object.keys(body as object).sort()

/** Runs a sample without a network, against the replies of the document, and returns the requests it sent. */
async function run(code: string, operations: Operation[]): Promise<Sent[]> {
  const sent: Sent[] = []
  const send = async (url: string | URL | Request, { method = 'GET', body }: RequestInit = {}) => {
    const { pathname, searchParams } = new URL(String(url))
    // Words in a path win over a parameter, as in the services.
    const [operation] = operations
      .filter((each) => matches(each, method, pathname))
      .sort((left, right) => left.path.split('{').length - right.path.split('{').length)
    const query = [...searchParams.keys()].sort()
    sent.push({ operation: operation?.operationId, query, body: readable(body) })
    return replyOf(operation)
  }
  const options = { fetch: send as typeof fetch }
  const given = {
    identityClient: (url: string, more: object) => identityClient(url, { ...more, ...options }),
    storageClient: (url: string, more: object) => storageClient(url, { ...more, ...options }),
    paymentsClient: (url: string, more: object) => paymentsClient(url, { ...more, ...options }),
    storageKeyClient: (url: string, key: string) => storageKeyClient(url, key, options),
    openAsBlob: async () => new Blob(['picture']),
    createInterface: () => ({ question: async () => 'answer', close() {} }),
    process: { stdout: { write() {} } },
    console: { log() {} },
    ...options,
  }
  const program = code.replaceAll(/^import .*$/gm, '')
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
  await new AsyncFunction(...Object.keys(given), program)(...Object.values(given))
  return sent
}

function matches({ method, path }: Operation, sent: string, pathname: string): boolean {
  const template = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
  return method === sent && template.test(pathname)
}

function replyOf(operation: Operation | undefined): Response {
  const [status, answer] =
    Object.entries(operation?.responses ?? {}).find(([code]) => code.startsWith('2')) ?? []
  const example = answer?.content?.['application/json']?.example
  if (example === undefined) return new Response(status === '204' ? null : 'text')
  return Response.json(example)
}

function readable(body: unknown): Sent['body'] {
  if (body instanceof URLSearchParams) return [...body.keys()].sort()
  if (typeof body === 'string') return membersOf(JSON.parse(body))
  return body ? 'a file' : undefined
}
