import type { Origin } from '@plinth/accounts'
import type { SignAccessToken } from '@plinth/kit/tokens'
import type { SessionUser } from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import { authenticateClient, type ClientRequest } from './client-authentication.ts'
import { prepareIdTokens, type SignIdToken } from './id-tokens.ts'
import type { OpenId } from './openid.ts'
import { clientUnauthorized } from './problems.ts'
import { audienceOf } from './resources.ts'

/** A request at the token endpoint. */
export type TokenRequest = ClientRequest & { origin: Origin }

export type TokenReply = {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  scope: string
  id_token?: string
  refresh_token?: string
}

/** The client of a request, if it may use the grant type. */
export async function requireGrantType(
  openid: OpenId,
  request: TokenRequest,
  grantType: string,
): Promise<Client> {
  const client = await authenticateClient(openid, request)
  if (!client.grantTypes.includes(grantType)) throw clientUnauthorized()
  return client
}

type Signers = { signAccess: SignAccessToken; signId: SignIdToken }

/** Loads the keys before anything is spent. */
export async function prepareSigners(openid: OpenId, client: Client): Promise<Signers> {
  const [signAccess, signId] = await Promise.all([
    openid.accounts.accessTokens.prepare(),
    prepareIdTokens(openid, client),
  ])
  return { signAccess, signId }
}

/** A client's session, and what this reply gives of it. */
export type Given = {
  client: Client
  user: SessionUser
  sessionId: number
  scopes: string[]
  resources: string[]
  amr: string[]
  authenticatedAt: Date
  nonce: string | null
  refreshToken: string | undefined
}

export async function tokenReply(
  openid: OpenId,
  { signAccess, signId }: Signers,
  given: Given,
): Promise<TokenReply> {
  const { client, user, sessionId, scopes, resources, amr, authenticatedAt, refreshToken } = given
  const audience = audienceOf(openid, client, resources)
  const accessToken = await signAccess({
    userId: String(user.id),
    username: user.username,
    roles: user.roles,
    sessionId: String(sessionId),
    amr,
    authenticatedAt,
    grant: { clientId: client.clientId, scopes, ...(audience !== undefined && { audience }) },
  })
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: openid.accounts.accessTokens.lifetimeSeconds,
    scope: scopes.join(' '),
    ...(scopes.includes('openid') && { id_token: await signId({ ...given, accessToken }) }),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  }
}
