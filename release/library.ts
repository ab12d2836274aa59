/** The API for host programs: `import { createIdentity } from 'plinth'`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { closeGracefully, prepareToListen, type Server, targetOf } from '@plinth/kit/http'
import { accessDenied } from '@plinth/kit/problems'
import type { ServiceSettings } from '@plinth/kit/runtime'
import {
  identity,
  payments,
  type ServiceEntry,
  sandbox,
  storageFull,
  storageKey,
} from '../launcher/services.ts'

/** A request as the host's guard sees it. */
export type GuardedRequest = {
  method: string
  /** As requested: percent-encoded, and without the query. */
  path: string
  headers: Record<string, string | string[] | undefined>
  /** The address of the client, also behind trusted proxies. */
  address: string
}

/**
 * The host's own guard: decides whether a request may proceed to the service's own checks. The action is
 * the `operationId` of the API document (`refund`), the resource is the path (`/api/payments/7/refund`).
 * `false` answers 403 `ACCESS_DENIED`. It is not called for what is public outside `/api`: health, public
 * keys, the API document and pages.
 */
export type Authorize = (
  request: GuardedRequest,
  action: string,
  resource: string,
) => boolean | Promise<boolean>

export type ServiceOptions = {
  /** The same names as the environment variables in `.env.example`; `process.env` is not read. */
  settings?: Record<string, string> | undefined
  authorize?: Authorize | undefined
}

export type Service = {
  /** Listens at the configured address and returns it. */
  listen(): Promise<string>
  /**
   * Answers one request of a server that the host program runs. Nothing may have read its body: a request
   * that passed through a body parser, such as `express.json()`, gets 500.
   */
  handle(request: IncomingMessage, response: ServerResponse): void
  /**
   * Finishes the requests that are being answered, for 25 seconds at most, and closes the database. Stop
   * calling `handle` first.
   */
  close(): Promise<void>
}

/** What a service with invalid settings is refused with; its `name` is `SettingsError`. */
export type SettingsError = Error & {
  readonly faults: { name: string; found: string; expected: string; example: string }[]
}

export function createIdentity(options?: ServiceOptions): Promise<Service> {
  return create(identity, options)
}

export function createStorageFull(options?: ServiceOptions): Promise<Service> {
  return create(storageFull, options)
}

export function createStorageKey(options?: ServiceOptions): Promise<Service> {
  return create(storageKey, options)
}

export function createPayments(options?: ServiceOptions): Promise<Service> {
  return create(payments, options)
}

/** Has no API document, and so no actions to authorize. */
export async function createProviderSandbox(
  options?: Pick<ServiceOptions, 'settings'>,
): Promise<Service> {
  const { authorize }: ServiceOptions = options ?? {}
  if (authorize) throw new TypeError('The sandbox does not take "authorize".')
  return create(sandbox, options)
}

async function create(
  entry: ServiceEntry,
  { settings = {}, authorize }: ServiceOptions = {},
): Promise<Service> {
  requireNode()
  requireStrings(settings)
  const { config, create: open } = await entry.prepare(settings)
  const server = await open()
  if (authorize) guard(server, authorize)
  return serviceOf(server, config)
}

const OLDEST = 26

/** The package can be installed with an older Node, because the command brings its own. */
function requireNode(): void {
  const { node } = process.versions
  if (Number.parseInt(node, 10) < OLDEST)
    throw new Error(`This is Node ${node}; Plinth inside a program needs ${OLDEST} or later.`)
}

function requireStrings(settings: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(settings))
    if (value !== undefined && typeof value !== 'string')
      throw new TypeError(`The setting ${name} must be a string.`)
}

async function serviceOf(server: Server, config: ServiceSettings): Promise<Service> {
  const listen = prepareToListen(server)
  const handle = handlerFor(server)
  await server.ready()
  return {
    listen: () => listen(config),
    handle,
    close: () => closeGracefully(server),
  }
}

const MAX_FINISH_MS = 25_000

/** The server knows only its own connections, so the requests of the host's are tracked here. */
function handlerFor(server: Server): Service['handle'] {
  const unanswered = new Set<ServerResponse>()
  const bodyIsGone = new WeakSet<IncomingMessage>()
  let onAnswered = () => {}
  server.addHook('onRequest', async ({ raw }) => {
    if (bodyIsGone.has(raw)) throw new Error(BODY_IS_GONE)
  })
  server.addHook('preClose', async () => {
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    onAnswered = resolve
    if (unanswered.size > 0)
      await Promise.race([answered, setTimeout(MAX_FINISH_MS, undefined, { ref: false })])
  })
  return (request, response) => {
    // The service would wait for it forever.
    if (request.readableDidRead && hasBody(request)) bodyIsGone.add(request)
    // No "close" follows if the client left while the host did something else first.
    if (!response.closed) {
      unanswered.add(response)
      response.once('close', () => {
        unanswered.delete(response)
        if (unanswered.size === 0) onAnswered()
      })
    }
    server.routing(request, response)
  }
}

const BODY_IS_GONE =
  'The body of this request was read before the service got it. Call "handle" before any body parser, such as express.json().'

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Runs before the service's own guards, so that a request refused by the host costs no lookup. */
function guard(server: Server, authorize: Authorize): void {
  server.addHook('onRequest', async (request) => {
    const { url = '', schema } = request.routeOptions
    const { operationId, tags = [] } = (schema ?? {}) as Documented
    const isPublic = tags.includes('Operations') && !url.startsWith('/api/')
    if (operationId === undefined || isPublic) return
    // Not `request.url`: the key edition routes on another path than the one requested.
    const path = targetOf(request).split('?', 1)[0] ?? ''
    const { method, headers, ip } = request
    if (!(await authorize({ method, path, headers, address: ip }, operationId, path)))
      throw accessDenied()
  })
}

type Documented = { operationId?: string; tags?: string[] }
