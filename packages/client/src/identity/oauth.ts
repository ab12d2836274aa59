import type {
  AuthorizationServerMetadata,
  ClientToken,
  Introspection as Introspected,
  Replies,
  UserInfo,
} from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'

/** RFC 7662. A token that is not valid, or no longer valid, has only `active`. */
export type Introspection = Introspected & {
  sub?: string
  username?: string
  scope?: string
  client_id?: string
  token_type?: string
  exp?: number
  iat?: number
  iss?: string
  aud?: string | string[]
  jti?: string
  sid?: string
}

/** The document has no claims, which depend on the kind of token. */
export type OAuthReplies = Omit<Replies, 'POST /oauth2/introspect'> & {
  'POST /oauth2/introspect': Introspection
}

/** For servers, which send a service key as their `accessToken`. */
export class OAuth {
  readonly #open: Calls<OAuthReplies>
  readonly #calls: Calls<OAuthReplies>

  constructor({ open, calls }: { open: Calls<OAuthReplies>; calls: Calls<OAuthReplies> }) {
    this.#open = open
    this.#calls = calls
  }

  /**
   * A token, valid for 15 minutes, that other services can verify without a call.
   * @example
   * const { access_token } = await identity.oauth.token('payments:read')
   */
  token(scope?: string, options?: CallOptions): Promise<ClientToken> {
    const form = { grant_type: 'client_credentials', scope }
    return this.#open.json('POST /oauth2/token', { form }, options)
  }

  /**
   * @example
   * const { active, username } = await identity.oauth.introspect(token)
   */
  introspect(token: string, options?: CallOptions): Promise<Introspection> {
    return this.#open.json('POST /oauth2/introspect', { form: { token } }, options)
  }

  /**
   * @example
   * await identity.oauth.revoke(token)
   */
  revoke(token: string, options?: CallOptions): Promise<void> {
    return this.#open.nothing('POST /oauth2/revoke', { form: { token } }, options)
  }

  /**
   * OpenID Connect Core, section 5.3: what the scopes of the access token say about its user.
   * @example
   * const { sub, email } = await identity.oauth.userInfo()
   */
  userInfo(options?: CallOptions): Promise<UserInfo> {
    return this.#calls.json('GET /oauth2/userinfo', {}, options)
  }

  /**
   * RFC 8414.
   * @example
   * const { token_endpoint } = await identity.oauth.metadata()
   */
  metadata(options?: CallOptions): Promise<AuthorizationServerMetadata> {
    return this.#open.json('GET /.well-known/oauth-authorization-server', {}, options)
  }
}
