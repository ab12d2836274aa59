import { countFrom, type Origin, throttled } from '@plinth/accounts'
import { HOUR_SECONDS } from '@plinth/kit/runtime'
import { MAX_CLIENT_REGISTRATIONS_AN_HOUR } from '../limits.ts'
import { MetadataFault, readMetadata, type SelfDescribed } from './client-metadata.ts'
import { type Client, registerItself } from './clients.ts'
import type { OpenId } from './openid.ts'
import { clientMetadataInvalid, redirectAddressInvalid, registrationOff } from './problems.ts'
import { shownHost } from './redirect-addresses.ts'

export function requireRegistration({ registration }: Pick<OpenId, 'registration'>): void {
  if (!registration) throw registrationOff()
}

/** RFC 7591, for public clients. Users are asked every time: nothing proves who the client is. */
export async function registerClient(
  openid: OpenId,
  metadata: Record<string, unknown>,
  origin: Origin,
) {
  const described = read(metadata)
  const allowance = {
    kind: 'client registration',
    limit: MAX_CLIENT_REGISTRATIONS_AN_HOUR,
    seconds: HOUR_SECONDS,
  }
  const { accounts } = openid
  const beyond = await countFrom(accounts, allowance, { event: 'ACCESS_DENIED' }, origin)
  if (beyond) throw throttled(accounts, beyond)
  return replyOf(await registerItself(openid, described, origin))
}

function read(metadata: Record<string, unknown>): SelfDescribed {
  try {
    return readMetadata(metadata, { host: hostIn(metadata) })
  } catch (error) {
    if (!(error instanceof MetadataFault)) throw error
    const problem =
      error.error === 'invalid_redirect_uri' ? redirectAddressInvalid : clientMetadataInvalid
    throw problem({ detail: error.message })
  }
}

/** Without a document, only the address that is answered says where a client is. */
function hostIn({ redirect_uris: addresses }: Record<string, unknown>): string {
  const [first] = Array.isArray(addresses) ? addresses : []
  return typeof first === 'string' && URL.canParse(first) ? shownHost(first) : 'Application'
}

function replyOf(client: Client) {
  return {
    client_id: client.clientId,
    client_id_issued_at: Math.floor(Date.parse(client.createdAt) / 1000),
    client_name: client.name,
    redirect_uris: client.redirectUris,
    post_logout_redirect_uris: client.postLogoutRedirectUris,
    grant_types: client.grantTypes,
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: client.scopes.join(' '),
    id_token_signed_response_alg: client.idTokenAlg,
    ...(client.uri !== null && { client_uri: client.uri }),
  }
}
