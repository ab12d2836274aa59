import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { identityClient, paymentsClient, storageClient, storageKeyClient } from '@plinth/client'
import { FOLDER } from './openapi.ts'

type Media = { example?: unknown }
type Operation = {
  operationId: string
  method: string
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
  ...(await import(`${PAGE}/code-samples.ts`)),
}

type Sent = { method: string; path: string; query: string[]; body: unknown }

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
/** The bodies that the client sends instead: it fills in what it knows. */
const SENT_INSTEAD: Record<string, object> = {
  refresh: { refreshToken: 'r' },
  logOut: { refreshToken: 'r' },
}

describe('the client code samples of the reference page', () => {
  for (const service of ['identity', 'storage-full', 'storage-key', 'payments'])
    test(`${service}: send every operation as documented`, async () => {
      const document = JSON.parse(readFileSync(join(FOLDER, `${service}.json`), 'utf8'))
      api.value = document
      const withoutClient: string[] = []

      for (const operation of operationsOf(document)) {
        const { operationId, parameters = [], requestBody } = operation
        const shown = parameters.filter(({ example }) => example !== undefined)
        const values = Object.fromEntries(shown.map(({ name, example }) => [name, String(example)]))
        const file = requestBody?.content['multipart/form-data'] && FILE
        const draft = draftOf(operation, values, bodyOf(operation)?.media.example, file)
        const code = clientSample(operation, draft)
        if (code.includes('fetch(')) withoutClient.push(operationId)
        else
          assert.deepEqual(
            (await run(code)).at(-1),
            expected(operation, draft),
            `${operationId}\n${code}`,
          )
      }

      const known = operationsOf(document).map(({ operationId }) => operationId)
      assert.deepEqual(
        withoutClient.sort(),
        WITHOUT_CLIENT.filter((name) => known.includes(name)),
      )
    })
})

function expected(operation: Operation, draft: Draft): Sent {
  const { pathname, searchParams } = new URL(draft.path, 'http://localhost')
  const body = SENT_INSTEAD[operation.operationId] ?? draft.body
  return {
    method: operation.method,
    path: pathname,
    query: [...searchParams].map(String).sort(),
    body: operation.requestBody?.content['multipart/form-data'] ? 'a file' : body,
  }
}

/** Runs a sample with clients that use no network, and returns the requests they sent. */
async function run(code: string): Promise<Sent[]> {
  const sent: Sent[] = []
  const send = async (url: string | URL | Request, { method = 'GET', body }: RequestInit = {}) => {
    const { pathname, searchParams } = new URL(String(url))
    const query = [...searchParams].map(String).sort()
    sent.push({ method, path: pathname, query, body: readable(body) })
    return Response.json({ accessToken: 'a', refreshToken: 'r', expiresInSeconds: 900, token: 't' })
  }
  const options = { fetch: send as typeof fetch }
  const given = {
    identityClient: (url: string, more: object) => identityClient(url, { ...more, ...options }),
    storageClient: (url: string, more: object) => storageClient(url, { ...more, ...options }),
    paymentsClient: (url: string, more: object) => paymentsClient(url, { ...more, ...options }),
    storageKeyClient: (url: string, key: string) => storageKeyClient(url, key, options),
    openAsBlob: async () => new Blob(['picture']),
  }
  // Fill in the placeholders.
  const program = code.replaceAll(/^import .*$/gm, '').replaceAll("'…'", "'secret'")
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
  await new AsyncFunction(...Object.keys(given), program)(...Object.values(given))
  return sent
}

function readable(body: unknown): unknown {
  if (body instanceof URLSearchParams) return Object.fromEntries(body)
  if (typeof body === 'string') return JSON.parse(body)
  return body && 'a file'
}
