/** What `import { createIdentity } from 'plinth'` gives a host program. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { accessDenied, listen, type Server, type ServiceSettings } from '@plinth/kit'
import { services } from '../launcher/services.ts'

/** A request as the host's guard sees it. */
export type GuardedRequest = {
  method: string
  path: string
  headers: Record<string, string | string[] | undefined>
  /** The client, behind trusted proxies too. */
  address: string
}

/**
 * The host's own guard: whether this request may go on to the service's own checks. The action is the
 * `operationId` of the API document (`refund`), the resource the path (`/api/payments/7/refund`).
 * `false` is 403 `ACCESS_DENIED`. Health, the API document and consoles are not asked about.
 */
export type Authorize = (
  request: GuardedRequest,
  action: string,
  resource: string,
) => boolean | Promise<boolean>

export type ServiceOptions = {
  /** As environment variables; `process.env` is not read. `.env.example` lists them. */
  settings?: Record<string, string>
  authorize?: Authorize
}

export type Service = {
  /** Listens where the settings say and returns the address. */
  listen(): Promise<string>
  /** Answers one request of a server that the host program runs. */
  handle(request: IncomingMessage, response: ServerResponse): void
  close(): Promise<void>
}

export function createIdentity(options?: ServiceOptions): Promise<Service> {
  return create('identity', options)
}

export function createStorageFull(options?: ServiceOptions): Promise<Service> {
  return create('storage-full', options)
}

export function createStorageKey(options?: ServiceOptions): Promise<Service> {
  return create('storage-key', options)
}

export function createPayments(options?: ServiceOptions): Promise<Service> {
  return create('payments', options)
}

export function createProviderSandbox(options?: ServiceOptions): Promise<Service> {
  return create('provider-sandbox', options)
}

async function create(
  name: string,
  { settings = {}, authorize }: ServiceOptions = {},
): Promise<Service> {
  const entry = services.find((service) => service.name === name)
  if (!entry) throw new Error(`There is no service "${name}".`)
  const { config, create: open } = await entry.prepare(settings)
  const server = await open()
  if (authorize) guard(server, authorize)
  await server.ready()
  return serviceOf(server, config)
}

function serviceOf(server: Server, config: ServiceSettings): Service {
  return {
    listen: () => listen(server, config),
    handle: (request, response) => server.routing(request, response),
    close: async () => {
      await server.close()
    },
  }
}

/** Runs before the service's own guards: a request that the host refuses costs no look-up. */
function guard(server: Server, authorize: Authorize): void {
  server.addHook('onRequest', async (request) => {
    const { operationId, tags = [] } = (request.routeOptions.schema ?? {}) as Documented
    if (operationId === undefined || tags.includes('Operations')) return
    const path = request.url.split('?', 1)[0] ?? ''
    const { method, headers, ip } = request
    if (!(await authorize({ method, path, headers, address: ip }, operationId, path)))
      throw accessDenied()
  })
}

type Documented = { operationId?: string; tags?: string[] }
