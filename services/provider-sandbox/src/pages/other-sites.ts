import type { Server } from '@plinth/kit/http'
import { accessDenied } from '@plinth/kit/problems'

/**
 * Refuses requests that a page of another site sends through a visitor's browser. Programs, which send
 * neither header, are let through, and so are the configured origins.
 */
export function refuseOtherSites(server: Server, allowedOrigins: string[]): void {
  server.addHook('onRequest', async ({ method, headers, host }) => {
    const { 'sec-fetch-site': site, origin } = headers
    if (method === 'GET' || method === 'HEAD' || allowedOrigins.includes(origin ?? '')) return
    const foreign =
      site === undefined
        ? origin !== undefined && originHost(origin) !== host
        : site !== 'same-origin' && site !== 'none'
    if (foreign) throw accessDenied({ detail: 'Another site may not do this.' })
  })
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
