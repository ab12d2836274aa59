import { createHash } from 'node:crypto'
import type { ProviderSettings } from '../settings.ts'
import type { Round } from './provider.ts'

/** RFC 6749 with PKCE (RFC 7636), for every provider; `more` is what only some of them take. */
export function authorizationUrl(
  endpoint: string,
  { clientId, scopes }: ProviderSettings,
  { state, verifier, redirectUri }: Round,
  more: Record<string, string> = {},
): string {
  const url = new URL(endpoint)
  const asked = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scopes,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value)
  return url.href
}
