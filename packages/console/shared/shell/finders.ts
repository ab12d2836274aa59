import { type Api, createApi, type Options, type Reply } from '../api/api.ts'
import { baseUrl } from '../api/base-url.ts'
import type { Finder, Found } from './definition.ts'
import { goTo } from './route.ts'

/** So many of a kind are offered; the list itself has all of them. */
const MAX_FOUND = 5

type Described = { title: string; path: string; kind: string }

/** What reads a list of a service, and what opens a page of its console: on the landing page, another address. */
export type Source<Replies> = { api: Api<Replies>; open?(path: string): void }

/**
 * Finds in a list of the service, with the credentials of the caller: what the service refuses is not found. The
 * service searches if the call depends on the text; in any case only rows whose title contains the text count.
 */
export function inList<Body>(
  read: (options: Options, text: string) => Promise<Reply<Body>>,
  describe: (body: Body) => Described[],
  open = goTo,
): Finder {
  return async (text, signal) => {
    const reply = await read({ signal, silent: true }, encodeURIComponent(text))
    if (!reply.ok) return []
    const rows = describe(reply.body).filter(containing(text)).slice(0, MAX_FOUND)
    return rows.map(({ title, path, kind }) => ({ title, kind, run: () => open(path) }))
  }
}

function containing(text: string) {
  const wanted = text.toLowerCase()
  return ({ title }: { title: string }) => title.toLowerCase().includes(wanted)
}

type ApiDocument = {
  paths: Record<string, Record<string, { operationId: string; summary: string }>>
}

/** Finds operations of the reference of the service at `address`. The document is read once. */
export function inReference(address = baseUrl, below = ''): Finder {
  const api = createApi<{ 'GET /openapi.json': ApiDocument }>({ headers: () => ({}), below })
  let reading: Promise<Found[]> | undefined
  const read = async (): Promise<Found[]> => {
    const reply = await api.get('/openapi.json', { open: true, silent: true })
    if (!reply.ok) {
      reading = undefined
      return []
    }
    return Object.entries(reply.body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, summary }]) => ({
        title: `${method.toUpperCase()} ${path}: ${summary}`,
        kind: 'operation',
        run: () => location.assign(`${address}/reference/#${operationId}`),
      })),
    )
  }
  return async (text) => {
    reading ??= read()
    return (await reading).filter(containing(text)).slice(0, MAX_FOUND)
  }
}
