import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request, Server } from '../framework.ts'
import {
  type AddressOptions,
  below,
  firstSegment,
  isAtOrBelow,
  type Placed,
  removeBasePath,
} from './base-path.ts'

type Mount = {
  path: string
  server: Server
  /** Only these paths of the server, and those below them; all if undefined. */
  only?: string[] | undefined
}

type Mounted = Placed & { hostPath?: string }

const EVENTS = ['request', 'checkContinue'] as const

/**
 * Mounts other servers of this process below paths of this one, like a proxy that strips the path,
 * but without a connection in between. Call it before this server listens.
 */
export function mountServers(server: Server, address: AddressOptions, mounts: Mount[]): void {
  const urls = [...server.operations.map(({ url }) => url), ...mounts.map(({ path }) => path)]
  const placed = removeBasePath(address, new Set(urls.map(firstSegment)))
  const own = new EventEmitter()
  for (const event of EVENTS) {
    for (const listener of server.server.listeners(event))
      own.on(event, listener.bind(server.server) as () => void)
    server.server.removeAllListeners(event)
    server.server.on(event, (request: IncomingMessage, response: ServerResponse) => {
      const to = mountedAt(placed(request), mounts, request)?.server.server ?? own
      to.emit(event, request, response)
    })
  }
}

function mountedAt(target: string, mounts: Mount[], request: Mounted): Mount | undefined {
  for (const mount of mounts) {
    const url = targetAt(target, mount)
    if (url === undefined || mount.only?.every((path) => !isAtOrBelow(url, path))) continue
    request.hostPath = request.basePath ?? ''
    request.basePath = request.hostPath + mount.path
    request.target = url
    request.url = url
    return mount
  }
  return undefined
}

const WELL_KNOWN = /^(\/\.well-known\/[\w-]+)(\/[^?]*)?/

/**
 * The target within a mounted server. RFC 8414 and RFC 9728 put the path of an issuer or resource
 * after the well-known part, and the related origins of passkeys belong to a whole domain.
 */
function targetAt(target: string, { path, server }: Mount): string | undefined {
  if (isAtOrBelow(target, path)) return below(target, path)
  const [, document = '', suffix] = WELL_KNOWN.exec(target) ?? []
  const isForDomain = document === '/.well-known/webauthn' && suffix === undefined
  if (suffix !== path && !isForDomain) return undefined
  return server.hasRoute({ method: 'GET', url: document }) ? document : undefined
}

/** The base path of the server that this one is mounted on, if the request came through it. */
export function hostPathOf({ raw }: Pick<Request, 'raw'>): string | undefined {
  return (raw as Mounted).hostPath
}
