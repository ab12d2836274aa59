import type { OpenSession } from '../accounts.ts'
import type {
  Identity,
  MailRequested,
  ProviderSignIn,
  ProviderSignInFinish,
  ProviderSignInStarted,
  ProviderSignUp,
  ProviderSignUpConfirmation,
  Replies,
  SignInProvider,
  SignInProviderDetails,
  SignInProviderTest,
} from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import type { Session } from '../session/session.ts'
import type { TokenPair } from '../session/stores.ts'

/** A sign-in that has begun: keep the `verifier`, and navigate to the `url`. */
export type ProviderVisit = ProviderSignInStarted & { verifier: string }

/** Signing in with accounts at providers, call by call; `signInWith` makes the verifier. */
export class Providers {
  readonly #open: Calls<Replies>
  readonly #calls: Calls<Replies>
  readonly #session: Session

  constructor({ open, calls, session }: OpenSession<Replies>) {
    this.#open = open
    this.#calls = calls
    this.#session = session
  }

  /**
   * @example
   * for (const { id, name } of await identity.providers.list()) console.log(id, name)
   */
  list(options?: CallOptions): Promise<SignInProvider[]> {
    return this.#open.json('GET /api/auth/providers', {}, options)
  }

  /**
   * @example
   * const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
   * const { url } = await identity.providers.start('google', { returnTo: 'https://app.example/', challenge })
   */
  start(
    provider: string,
    start: ProviderSignIn,
    options?: CallOptions,
  ): Promise<ProviderSignInStarted> {
    const call = { path: { provider }, json: start }
    return this.#open.json('POST /api/auth/providers/{provider}/start', call, options)
  }

  /**
   * With the ticket in the fragment of the page that the browser has returned to.
   * @example
   * await identity.providers.finish({ ticket: 'from the fragment', verifier: 'the one that began it' })
   */
  async finish(finish: ProviderSignInFinish, options?: CallOptions): Promise<TokenPair> {
    const call = { json: finish }
    const reply = await this.#open.json('POST /api/auth/providers/finish', call, options)
    if (Array.isArray(reply)) throw new TypeError('The ticket was for linking an identity')
    this.#session.adopt(reply)
    return reply
  }

  /**
   * After a 403 `EMAIL_NOT_VERIFIED_BY_PROVIDER`: sends a code to an address of the user's choice.
   * @example
   * await identity.providers.requestSignUp({ signUpToken: 'from the problem', email: 'ada@example.com' })
   */
  requestSignUp(signUp: ProviderSignUp, options?: CallOptions): Promise<MailRequested> {
    return this.#open.json('POST /api/auth/providers/sign-up', { json: signUp }, options)
  }

  /**
   * @example
   * await identity.providers.confirmSignUp({ signUpToken: 'from the problem', code: '1234-5678' })
   */
  async confirmSignUp(
    confirmation: ProviderSignUpConfirmation,
    options?: CallOptions,
  ): Promise<TokenPair> {
    const call = { json: confirmation }
    const pair = await this.#open.json('POST /api/auth/providers/sign-up/confirm', call, options)
    this.#session.adopt(pair)
    return pair
  }

  /**
   * For administrators: with the address to register at each provider.
   * @example
   * for (const { name, callbackUrl } of await identity.providers.details()) console.log(name, callbackUrl)
   */
  details(options?: CallOptions): Promise<SignInProviderDetails[]> {
    return this.#calls.json('GET /api/providers', {}, options)
  }

  /**
   * For administrators: whether the provider answers.
   * @example
   * const { works, fault } = await identity.providers.test('google')
   */
  test(provider: string, options?: CallOptions): Promise<SignInProviderTest> {
    return this.#calls.json('POST /api/providers/{provider}/test', { path: { provider } }, options)
  }
}

/** The accounts at providers that the user can sign in with. */
export class Identities {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * @example
   * for (const { provider, email } of await identity.identities.list()) console.log(provider, email)
   */
  list(options?: CallOptions): Promise<Identity[]> {
    return this.#calls.json('GET /api/users/me/identities', {}, options)
  }

  /**
   * After a sign-in was refused with `ACCOUNT_EXISTS` and the user has signed in another way.
   * @example
   * await identity.identities.link('the linkToken of the problem')
   */
  link(linkToken: string, options?: CallOptions): Promise<Identity[]> {
    return this.#calls.json('POST /api/users/me/identities', { json: { linkToken } }, options)
  }

  /**
   * @example
   * const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
   * const { url } = await identity.identities.start('google', { returnTo: 'https://app.example/', challenge })
   */
  start(
    provider: string,
    start: ProviderSignIn,
    options?: CallOptions,
  ): Promise<ProviderSignInStarted> {
    const call = { path: { provider }, json: start }
    return this.#calls.json('POST /api/users/me/identities/{provider}/start', call, options)
  }

  /**
   * Links the identity of a visit that `start` began, in the same session.
   * @example
   * await identity.identities.finish({ ticket: 'from the fragment', verifier: 'the one that began it' })
   */
  async finish(finish: ProviderSignInFinish, options?: CallOptions): Promise<Identity[]> {
    const call = { json: finish }
    const reply = await this.#calls.json('POST /api/auth/providers/finish', call, options)
    if (!Array.isArray(reply)) throw new TypeError('The ticket was for a sign-in')
    return reply
  }

  /**
   * @example
   * await identity.identities.unlink(1)
   */
  unlink(id: number, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /api/users/me/identities/{id}', { path: { id } }, options)
  }
}

const VERIFIER_BYTES = 32

/** A random verifier and its S256 challenge (RFC 7636). */
export async function newVerifier(): Promise<{ verifier: string; challenge: string }> {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(VERIFIER_BYTES)))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return { verifier, challenge: base64url(new Uint8Array(digest)) }
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
