/**
 * The client method of each operation, for the samples of the reference page: each method names its operation, such
 * as `GET /api/users/{id}`, which the compiler has compared with the API document.
 */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { identityClient, paymentsClient, storageClient, storageKeyClient } from '@plinth/client'

export const METHODS_FILE = join(
  import.meta.dirname,
  '../../packages/console/reference/client-methods.ts',
)

const ADDRESS = 'http://localhost'
const CLIENTS: Record<string, object> = {
  identity: identityClient(ADDRESS),
  'storage-full': storageClient(ADDRESS),
  'storage-key': storageKeyClient(ADDRESS, ''),
  payments: paymentsClient(ADDRESS),
}

/** Methods that leave the call to the session, which knows the tokens, or to a function beside the class. */
const ELSEWHERE = {
  'POST /api/auth/refresh': 'session.refresh',
  'POST /api/auth/logout': 'logOut',
  'DELETE /api/users/me/sessions/{id}': 'sessions.end',
  'GET /file/search': 'files.search',
  'POST /file/bulk': 'files.bulk',
}

type Described = { paths: Record<string, Record<string, { operationId: string }>> }

/** The text of the file, from the documents by service. */
export function clientMethods(folder: string): string {
  const found = new Map<string, string>()
  for (const [service, client] of Object.entries(CLIENTS)) {
    const methods = methodsOf(client)
    const document: Described = JSON.parse(readFileSync(join(folder, `${service}.json`), 'utf8'))
    for (const [path, operations] of Object.entries(document.paths))
      for (const [verb, { operationId }] of Object.entries(operations))
        note(found, operationId, methods.get(`${verb.toUpperCase()} ${path}`))
  }
  const lines = [...found].sort(byName).map(([name, method]) => `  ${name}: '${method}',`)
  return `${HEAD}\n${lines.join('\n')}\n}\n`
}

export async function writeClientMethods(folder: string): Promise<void> {
  await writeFile(METHODS_FILE, clientMethods(folder))
}

const HEAD = `// Generated from the client: \`node test/documents/openapi.ts\` writes it.
/** The client method of each operation; the client leaves the others to other programs. */
export const CLIENT_METHODS: Record<string, string> = {`

const byName = ([left]: [string, string], [right]: [string, string]) => (left < right ? -1 : 1)

function note(found: Map<string, string>, operationId: string, method: string | undefined): void {
  const known = found.get(operationId)
  if (known !== undefined && method !== undefined && known !== method)
    throw new Error(`Two services have ${operationId}: ${known} and ${method}.`)
  if (method !== undefined) found.set(operationId, method)
}

const NAMED = /'((?:GET|POST|PUT|PATCH|DELETE) \/[^']*)'/

/** Such as `users.list`, by operation. Of two methods for one operation, the first counts. */
function methodsOf(client: object): Map<string, string> {
  const groups = Object.entries(client).filter(([, group]) => typeof group === 'object')
  const named = [
    ['', client] as const,
    ...groups.map(([name, group]) => [`${name}.`, group] as const),
  ]
  const methods = new Map<string, string>(Object.entries(ELSEWHERE))
  for (const [prefix, group] of named)
    for (const [name, text] of sourcesOf(group)) {
      const operation = NAMED.exec(text)?.[1]
      if (operation && !methods.has(operation)) methods.set(operation, prefix + name)
    }
  return methods
}

function sourcesOf(group: object): [string, string][] {
  const prototype = Object.getPrototypeOf(group)
  if (!prototype || prototype === Object.prototype) return []
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
  const methods = own.filter(([name, { value }]) => name !== 'constructor' && value)
  return [
    ...methods.map(([name, { value }]): [string, string] => [name, String(value)]),
    ...sourcesOf(prototype),
  ]
}
