import { join } from 'node:path'

type Media = { example?: unknown }
export type Operation = {
  operationId: string
  method: string
  path: string
  parameters?: { name: string; required?: boolean; example?: unknown }[]
  requestBody?: { content: Record<string, Media> }
}
type Draft = { path: string }
type Sample = (operation: Operation, draft: Draft) => string
/** The part of the reference page that is used here. Its own types need the DOM. */
type ReferencePage = {
  api: { value: object }
  publicValues: Record<string, string>
  operationsOf(document: object): Operation[]
  bodyOf(operation: Operation): { media: Media } | undefined
  draftOf(operation: Operation, values: object, body: unknown): Draft
  curlSample: Sample
  clientSample: Sample
}

const ADDRESS = 'http://samples.test'
// The browser globals that the page's modules need when they load.
const GLOBALS = {
  document: { documentElement: { dataset: { base: '..' } } },
  location: { href: `${ADDRESS}/reference/` },
}
Object.assign(globalThis, GLOBALS)
const CONSOLE = join(import.meta.dirname, '../packages/console')
const page: ReferencePage = {
  ...(await import(`${CONSOLE}/reference/api-document.ts`)),
  ...(await import(`${CONSOLE}/reference/drafts.ts`)),
  ...(await import(`${CONSOLE}/reference/code-samples.ts`)),
  ...(await import(`${CONSOLE}/shared/api/concealment.ts`)),
}
for (const name of Object.keys(GLOBALS)) Reflect.deleteProperty(globalThis, name)

/** The operations of a running service. */
export async function operationsAt(url: string): Promise<Operation[]> {
  page.api.value = (await (await fetch(`${url}/openapi.json`)).json()) as object
  return page.operationsOf(page.api.value)
}

/** What the buttons of an operation copy, with nothing typed in and the demo accounts of a fresh start. */
export function samplesOf(operation: Operation, url: string) {
  const { parameters = [] } = operation
  const wanted = parameters.filter(({ required }) => required)
  const values = Object.fromEntries(
    wanted.map(({ name, example }) => [name, String(example ?? '')]),
  )
  const draft = page.draftOf(operation, values, page.bodyOf(operation)?.media.example)
  Object.assign(page.publicValues, {
    API_KEY: 'storage-local-dev-key',
    USERNAME: operation.path.startsWith('/api/users/me') ? 'user' : 'admin',
    PASSWORD: 'password123123',
  })
  const at = (text: string) => text.replaceAll(ADDRESS, url)
  return {
    curl: at(page.curlSample(operation, draft)),
    client: at(page.clientSample(operation, draft)),
  }
}
