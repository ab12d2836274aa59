import { validationFailed } from '@plinth/kit/problems'

type Allowed = { publicUrl: string; corsOrigins: string[] }

/**
 * Where the browser may return to: a page below `/account/`, or of an application that is allowed to call this
 * service. Anywhere else, our callback would be an open redirect that hands out tickets.
 */
export function requireReturnAddress(
  { publicUrl, corsOrigins }: Allowed,
  returnTo: string,
): string {
  const url = URL.canParse(returnTo) ? new URL(returnTo) : undefined
  const own = `${new URL(publicUrl).href.replace(/\/$/, '')}/account/`
  const isKnown = url && (url.href.startsWith(own) || corsOrigins.includes(url.origin))
  if (!isKnown || url.href.includes('#') || url.username !== '' || url.password !== '')
    throw validationFailed(['returnTo: must be a page of an allowed origin, without a fragment'])
  return url.href
}
