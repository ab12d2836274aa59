import type { Api } from '../api/api.ts'
import { baseUrl } from '../api/base-url.ts'
import type { Finder, Found } from './definition.ts'
import { goTo } from './route.ts'

/** So many of a kind are offered; the list itself has all of them. */
const MOST = 5

type Described = { title: string; path: string; kind: string }

/**
 * Finds in a list of the service, with the credentials of the caller: what the service refuses is not found. The
 * service searches if `path` depends on the text; in any case only rows whose title contains the text count.
 */
export function inList<Body>(
  api: Api,
  path: string | ((text: string) => string),
  describe: (body: Body) => Described[],
): Finder {
  return async (text, signal) => {
    const address = typeof path === 'string' ? path : path(encodeURIComponent(text))
    const reply = await api.get<Body>(address, { signal, silent: true })
    return reply.ok ? describe(reply.body).filter(containing(text)).slice(0, MOST).map(leading) : []
  }
}

const leading = ({ title, path, kind }: Described): Found => ({
  title,
  kind,
  run: () => goTo(path),
})

function containing(text: string) {
  const wanted = text.toLowerCase()
  return ({ title }: { title: string }) => title.toLowerCase().includes(wanted)
}

type ApiDocument = {
  paths: Record<string, Record<string, { operationId: string; summary: string }>>
}

/** Finds operations of the reference. The document is read once. */
export function inReference(api: Api): Finder {
  let reading: Promise<Found[]> | undefined
  const read = async (): Promise<Found[]> => {
    const reply = await api.get<ApiDocument>('/openapi.json', { open: true, silent: true })
    if (!reply.ok) {
      reading = undefined
      return []
    }
    return Object.entries(reply.body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, summary }]) => ({
        title: `${method.toUpperCase()} ${path}: ${summary}`,
        kind: 'operation',
        run: () => location.assign(`${baseUrl}/reference/#${operationId}`),
      })),
    )
  }
  return async (text) => {
    reading ??= read()
    return (await reading).filter(containing(text)).slice(0, MOST)
  }
}

/** Keys and endpoints, which every service has: for callers who may see them. */
export function inAccess(
  api: Api,
  { keys, events }: { keys: string; events: string },
): [keys: Finder, endpoints: Finder] {
  return [
    inList<{ id: number; name: string; start: string }[]>(api, '/api/service-keys', (rows) =>
      rows.map(({ name, start }) => ({
        title: `${name} (${start}…)`,
        kind: 'key',
        path: `${keys}?keys-find=${encodeURIComponent(start)}`,
      })),
    ),
    inList<{ id: string; url: string }[]>(api, '/api/webhooks/endpoints', (rows) =>
      rows.map(({ id, url }) => ({
        title: url,
        kind: 'endpoint',
        path: `${events}?endpoints-find=${encodeURIComponent(id)}`,
      })),
    ),
  ]
}
