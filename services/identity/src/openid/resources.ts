import type { Client } from '../database/clients.repository.ts'
import type { OpenId } from './openid.ts'

const MAX_LENGTH = 500

/** Why a resource cannot be registered; undefined if it can. RFC 8707: an absolute address without a fragment. */
export function faultOfResource(
  resource: string,
  { issuer, audience }: { issuer: string; audience: string },
): string | undefined {
  if (resource.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`
  if (!/^[\x21-\x7e]+$/.test(resource) || !URL.canParse(resource) || resource.includes('#'))
    return 'must be an absolute address without a fragment'
  // Such a token would open more than the resource: the API of the suite, or userinfo.
  if ([issuer, audience].includes(resource)) return 'must be neither the issuer nor the audience'
  return undefined
}

/** Whether a client may ask for all of these. */
export function mayAskFor(openid: OpenId, client: Client, resources: string[]): boolean {
  const allowed = [...client.resources, ...openid.resources]
  return resources.every((one) => allowed.includes(one) && !faultOfResource(one, openid))
}

/** Whom an access token is meant for; undefined means the services of the suite. */
export function audienceOf(
  { issuer }: Pick<OpenId, 'issuer'>,
  { firstParty }: Client,
  resources: string[],
): string | string[] | undefined {
  const [only, ...more] = resources
  if (only !== undefined) return more.length === 0 ? only : resources
  return firstParty ? undefined : issuer
}
