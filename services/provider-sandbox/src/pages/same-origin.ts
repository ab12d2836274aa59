import { accessDenied, type Request } from '@plinth/kit'

/**
 * Refuses what a page of another site sends with a visitor's browser. Programs, which send neither
 * header, are let through.
 */
export async function sameOriginOnly(request: Request): Promise<void> {
  if (request.method === 'GET' || request.method === 'HEAD') return
  const { 'sec-fetch-site': site, origin, host } = request.headers
  const foreign =
    site === undefined
      ? origin !== undefined && originHost(origin) !== host
      : site !== 'same-origin' && site !== 'none'
  if (foreign) throw accessDenied({ detail: 'Another site may not do this.' })
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
