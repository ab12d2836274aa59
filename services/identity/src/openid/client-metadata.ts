import { type Client, ID_TOKEN_ALGORITHMS } from '../database/clients.repository.ts'
import { MAX_CLIENT_ADDRESSES, MAX_CLIENT_NAME } from '../limits.ts'
import { COMMAND_NAME } from './command-line.ts'
import { CONSOLE_NAME } from './consoles.ts'
import { AUTHORIZATION_CODE, DEVICE_CODE, REFRESH_TOKEN, USER_SCOPES } from './openid.ts'
import { words } from './parameters.ts'
import { faultOfAddress } from './redirect-addresses.ts'

/** RFC 7591, section 3.2.2. */
type MetadataError = 'invalid_redirect_uri' | 'invalid_client_metadata'

export class MetadataFault extends Error {
  readonly error: MetadataError

  constructor(description: string, error: MetadataError = 'invalid_client_metadata') {
    super(description)
    this.error = error
  }
}

export type Metadata = Record<string, unknown>

const GRANT_TYPES = [AUTHORIZATION_CODE, REFRESH_TOKEN, DEVICE_CODE]
const DEFAULT_SCOPES = ['openid', 'profile', 'email', 'offline_access']

export type SelfDescribed = Pick<
  Client,
  | 'name'
  | 'redirectUris'
  | 'postLogoutRedirectUris'
  | 'grantTypes'
  | 'scopes'
  | 'idTokenAlg'
  | 'uri'
>

/**
 * What a client says about itself (RFC 7591, section 2). It is always public, and never one of our own: members that
 * would say otherwise are unknown here, and unknown members are ignored.
 */
export function readMetadata(metadata: Metadata, { host }: { host: string }): SelfDescribed {
  const method = metadata.token_endpoint_auth_method ?? 'none'
  if (method !== 'none')
    throw new MetadataFault('Only public clients: token_endpoint_auth_method must be none.')
  const grantTypes = grantTypesIn(metadata)
  const redirectUris = addressesIn(metadata, 'redirect_uris')
  if (grantTypes.includes(AUTHORIZATION_CODE) && redirectUris.length === 0)
    throw new MetadataFault('redirect_uris is missing.', 'invalid_redirect_uri')
  return {
    name: nameIn(metadata) ?? host,
    redirectUris,
    postLogoutRedirectUris: addressesIn(metadata, 'post_logout_redirect_uris'),
    grantTypes,
    scopes: scopesIn(metadata),
    idTokenAlg: algorithmIn(metadata),
    uri: homePageIn(metadata, host),
  }
}

function grantTypesIn({ grant_types: given, response_types: types }: Metadata): string[] {
  const responseTypes = textsIn(types ?? ['code'], 'response_types')
  if (!responseTypes.includes('code')) throw new MetadataFault('response_types must have code.')
  const named = textsIn(given ?? [AUTHORIZATION_CODE, REFRESH_TOKEN], 'grant_types')
  const known = GRANT_TYPES.filter((type) => named.includes(type))
  if (!known.some((type) => type !== REFRESH_TOKEN))
    throw new MetadataFault(`grant_types must have ${AUTHORIZATION_CODE} or ${DEVICE_CODE}.`)
  return known
}

function addressesIn(metadata: Metadata, member: string): string[] {
  const addresses = textsIn(metadata[member] ?? [], member)
  for (const address of addresses) {
    const fault = faultOfAddress(address)
    if (fault !== undefined)
      throw new MetadataFault(`An address in ${member} ${fault}.`, 'invalid_redirect_uri')
  }
  return addresses
}

function textsIn(value: unknown, member: string): string[] {
  const isList = Array.isArray(value) && value.length <= MAX_CLIENT_ADDRESSES
  if (!isList || !value.every((one) => typeof one === 'string'))
    throw new MetadataFault(`${member} must be a list of at most ${MAX_CLIENT_ADDRESSES} texts.`)
  return value
}

function nameIn({ client_name: given }: Metadata): string | undefined {
  if (given === undefined) return undefined
  const name = typeof given === 'string' ? given.trim() : ''
  // Control characters and those that turn the direction of text could make it read as something else.
  if (name === '' || name.length > MAX_CLIENT_NAME || /\p{C}/u.test(name))
    throw new MetadataFault(
      `client_name must have 1 to ${MAX_CLIENT_NAME} characters, all of them visible.`,
    )
  if ([CONSOLE_NAME, COMMAND_NAME].some((own) => plain(name) === plain(own)))
    throw new MetadataFault('client_name is that of another application.')
  return name
}

function plain(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

function scopesIn({ scope }: Metadata): string[] {
  if (scope === undefined) return DEFAULT_SCOPES
  if (typeof scope !== 'string') throw new MetadataFault('scope must be a text.')
  const named = words(scope)
  const known = USER_SCOPES.filter((name) => named.includes(name))
  // Its resource has scopes of its own: what it may ask here is what any client may.
  return known.length > 0 ? known : DEFAULT_SCOPES
}

function algorithmIn({ id_token_signed_response_alg: given }: Metadata): Client['idTokenAlg'] {
  if (given === undefined) return 'RS256'
  const known = ID_TOKEN_ALGORITHMS.find((name) => name === given)
  if (!known) throw new MetadataFault('id_token_signed_response_alg must be RS256 or ES256.')
  return known
}

/** Shown to users, so it must be where the client is: a link to somebody else's page would lend it a good name. */
function homePageIn({ client_uri: given }: Metadata, host: string): string | null {
  if (typeof given !== 'string' || !/^https?:\/\/[\x21-\x7e]+$/.test(given)) return null
  const url = URL.canParse(given) ? new URL(given) : undefined
  return url?.host === host && url.username === '' ? given : null
}
