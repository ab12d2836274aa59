import { ProblemError } from './http/errors.ts'
import { type ClientOptions, jsonOf, type Send, sender } from './http/request.ts'

export type CodeFlowOptions = {
  /** Of a public client: it has no secret, because a page cannot keep one. */
  clientId: string
  /** The address of the page that calls `finish`; by default that of the current page. */
  redirectUri?: string | undefined
  /** Default `openid profile email`. */
  scope?: string | undefined
  /** RFC 8707: the API that the access token is for. */
  resource?: string | undefined
  /** Where the state and the verifier wait while the user is away. By default `sessionStorage`. */
  storage?: Pending | undefined
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined
} & Pick<ClientOptions, 'fetch' | 'timeoutMs'>

type Pending = {
  getItem(name: string): string | null
  setItem(name: string, value: string): void
  removeItem(name: string): void
}

type Page = { location: { href: string; assign(address: string): void }; sessionStorage: Pending }

export type SignInRequest = {
  /** `none` asks nothing of the user, and is refused with `login_required` if that is not possible. */
  prompt?: 'none' | 'login' | 'consent' | 'select_account' | 'create' | undefined
  loginHint?: string | undefined
  /** Languages in the order of preference, such as `de en`. */
  uiLocales?: string | undefined
}

export type SignedIn = {
  accessToken: string
  expiresInSeconds: number
  /** Absent if the client has no refresh grant. */
  refreshToken?: string | undefined
  idToken?: string | undefined
  scope: string
  /** What the ID token says about the user. */
  claims: Record<string, unknown> & { sub?: string }
}

type Metadata = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  end_session_endpoint?: string
}

type TokenReply = {
  access_token: string
  expires_in: number
  refresh_token?: string
  id_token?: string
  scope?: string
}

type Request = { state: string; nonce: string; verifier: string }

export type CodeFlowFault = 'STATE_MISMATCH' | 'ISSUER_MISMATCH' | 'INVALID_ID_TOKEN'

/** The answer is not one to the request of this page. */
export class CodeFlowError extends Error {
  readonly code: CodeFlowFault

  constructor(code: CodeFlowFault, message: string) {
    super(message)
    this.name = 'CodeFlowError'
    this.code = code
  }
}

/**
 * Signs users in from a page without a server of its own, at any Plinth: authorization code flow with PKCE. It keeps
 * no tokens: they are what `finish` returns.
 */
export class CodeFlow {
  readonly #send: Send
  readonly #issuer: string
  readonly #options: CodeFlowOptions
  #metadata: Promise<Metadata> | undefined

  constructor(issuer: string, options: CodeFlowOptions) {
    this.#issuer = issuer
    this.#options = options
    // Both endpoints are named in full by the metadata.
    this.#send = sender('', options)
  }

  /**
   * Leaves the page for the sign-in.
   * @example
   * await plinth.signIn({ prompt: 'select_account' })
   */
  async signIn(request: SignInRequest = {}): Promise<void> {
    pageHere().location.assign(await this.signInAddress(request))
  }

  /**
   * The address that `signIn` opens, for a link or another window of this page.
   * @example
   * const address = await plinth.signInAddress()
   */
  async signInAddress({ prompt, loginHint, uiLocales }: SignInRequest = {}): Promise<string> {
    const { authorization_endpoint } = await this.#discover()
    const { clientId, scope = 'openid profile email', resource } = this.#options
    const pending: Request = { state: random(), nonce: random(), verifier: random() }
    this.#storage.setItem(this.#name, JSON.stringify(pending))
    const address = new URL(authorization_endpoint)
    const parameters = {
      client_id: clientId,
      response_type: 'code',
      redirect_uri: this.#redirectUri,
      scope,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await challengeOf(pending.verifier),
      code_challenge_method: 'S256',
      resource,
      prompt,
      login_hint: loginHint,
      ui_locales: uiLocales,
    }
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) address.searchParams.set(name, value)
    return address.href
  }

  /**
   * Call it when the page opens. Returns undefined if the address has no answer. A refusal is thrown as a
   * `ProblemError`, for example with the code `access_denied` or `login_required`. Then remove the answer from the
   * address with `history.replaceState`.
   * @example
   * const user = await plinth.finish()
   * if (user) console.log(user.claims.sub)
   */
  async finish(address: string = pageHere().location.href): Promise<SignedIn | undefined> {
    const answer = new URL(address).searchParams
    const [state, code, error] = [answer.get('state'), answer.get('code'), answer.get('error')]
    if (state === null || (code === null && error === null)) return undefined
    const pending = this.#take(state)
    const { issuer } = await this.#discover()
    // RFC 9207: another issuer could have sent the user here.
    if (answer.get('iss') !== issuer)
      throw new CodeFlowError('ISSUER_MISMATCH', 'The answer is from another issuer')
    if (code === null) {
      const refusal = { error, error_description: answer.get('error_description') ?? error }
      throw new ProblemError({ status: 400, headers: new Headers() }, refusal)
    }
    return this.#ask(
      {
        grant_type: 'authorization_code',
        code,
        redirect_uri: this.#redirectUri,
        code_verifier: pending.verifier,
      },
      pending.nonce,
    )
  }

  /**
   * A refresh token works once: keep the one that is returned.
   * @example
   * const user = await plinth.refresh(refreshToken)
   */
  refresh(refreshToken: string): Promise<SignedIn> {
    return this.#ask({ grant_type: 'refresh_token', refresh_token: refreshToken })
  }

  /**
   * Where to send the browser to end its session at Plinth, too; it comes back to `returnTo`, which the client has
   * registered.
   * @example
   * location.assign(await plinth.signOutAddress({ idToken: user.idToken, returnTo: 'https://shop.example/' }))
   */
  async signOutAddress(about: {
    idToken?: string | undefined
    returnTo?: string | undefined
  }): Promise<string> {
    const { end_session_endpoint } = await this.#discover()
    if (!end_session_endpoint) throw new Error('This issuer has no sign-out endpoint')
    const address = new URL(end_session_endpoint)
    address.searchParams.set('client_id', this.#options.clientId)
    if (about.idToken) address.searchParams.set('id_token_hint', about.idToken)
    if (about.returnTo) address.searchParams.set('post_logout_redirect_uri', about.returnTo)
    return address.href
  }

  get #storage(): Pending {
    return this.#options.storage ?? pageHere().sessionStorage
  }

  get #name(): string {
    return `plinth.sign-in ${this.#issuer} ${this.#options.clientId}`
  }

  get #redirectUri(): string {
    if (this.#options.redirectUri) return this.#options.redirectUri
    const { origin, pathname } = new URL(pageHere().location.href)
    return origin + pathname
  }

  #discover(): Promise<Metadata> {
    const address = `${this.#issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`
    this.#metadata ??= jsonOf<Metadata>(this.#send('GET', address)).catch((error) => {
      // The next call tries again.
      this.#metadata = undefined
      throw error
    })
    return this.#metadata
  }

  /** A request is answered once. */
  #take(state: string): Request {
    const kept = this.#storage.getItem(this.#name)
    this.#storage.removeItem(this.#name)
    const pending: Request | undefined = kept === null ? undefined : JSON.parse(kept)
    if (pending?.state !== state)
      throw new CodeFlowError('STATE_MISMATCH', 'This page has not asked for this answer')
    return pending
  }

  async #ask(fields: Record<string, string>, nonce?: string): Promise<SignedIn> {
    const { clientId, scope = '' } = this.#options
    const { token_endpoint, issuer } = await this.#discover()
    const form = { client_id: clientId, ...fields }
    const reply = await jsonOf<TokenReply>(this.#send('POST', token_endpoint, { form }))
    const claims = reply.id_token === undefined ? {} : claimsOf(reply.id_token)
    if (reply.id_token !== undefined) this.#requireValid(claims, issuer, nonce)
    return {
      accessToken: reply.access_token,
      expiresInSeconds: reply.expires_in,
      refreshToken: reply.refresh_token,
      idToken: reply.id_token,
      scope: reply.scope ?? scope,
      claims,
    }
  }

  /**
   * OpenID Connect Core, section 3.1.3.7. The token came from the issuer itself, over a connection that TLS protects,
   * so its signature need not be checked.
   */
  #requireValid(claims: Record<string, unknown>, issuer: string, nonce: string | undefined): void {
    const { now = Date.now, clientId } = this.#options
    const isValid =
      claims.iss === issuer &&
      [claims.aud].flat().includes(clientId) &&
      (nonce === undefined || claims.nonce === nonce) &&
      Number(claims.exp) * 1000 > now() - CLOCK_SKEW_MS
    if (!isValid) throw new CodeFlowError('INVALID_ID_TOKEN', 'The ID token is not for this page')
  }
}

const CLOCK_SKEW_MS = 60_000

/**
 * @example
 * const plinth = codeFlow('http://localhost:8081', { clientId: 'shop' })
 */
export function codeFlow(issuer: string, options: CodeFlowOptions): CodeFlow {
  return new CodeFlow(issuer, options)
}

function pageHere(): Page {
  const { location, sessionStorage } = globalThis as Partial<Page>
  if (location && sessionStorage) return { location, sessionStorage }
  throw new Error('There is no page here: give redirectUri, storage and the address that came back')
}

/** 256 random bits. */
function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

/** RFC 7636, method S256. Browsers compute it over HTTPS and on localhost only. */
async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return base64url(new Uint8Array(digest))
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function claimsOf(idToken: string): Record<string, unknown> {
  const [, part = ''] = idToken.split('.')
  const binary = atob(part.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}
