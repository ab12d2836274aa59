import {
  type AccountsOptions,
  type AuditQuery,
  type OpenSession,
  openSession,
  Sessions,
  SignIn,
} from '../accounts.ts'
import { AuditLog } from '../audit-log.ts'
import { Events, WebhookEndpoints } from '../events.ts'
import type {
  AuditEvent,
  ProblemCode,
  ProblemDetails,
  Replies,
  SignInCodeRequested,
} from '../generated/identity.ts'
import type { CallOptions } from '../http/calls.ts'
import { type Answered, ProblemError } from '../http/errors.ts'
import { IssuerOperations } from '../operations.ts'
import { ServiceKeys } from '../service-keys.ts'
import type { TokenPair } from '../session/stores.ts'
import { IdentityAccount } from './account.ts'
import { Clients } from './clients.ts'
import type { PasskeyAssertion } from './credentials.ts'
import { Grants } from './grants.ts'
import { Mails } from './mails.ts'
import { OAuth, type OAuthReplies } from './oauth.ts'
import { type PasskeyReplies, Passkeys } from './passkeys.ts'
import { Identities, newVerifier, Providers, type ProviderVisit } from './providers.ts'
import { Recovery } from './recovery.ts'
import { type FactorProof, SecondFactor } from './second-factor.ts'
import { IdentityUsers } from './users.ts'

export type IdentityProblem = Answered<ProblemCode, ProblemDetails>

export class IdentityClient extends SignIn {
  readonly account: IdentityAccount
  readonly sessions: Sessions
  readonly passkeys: Passkeys
  readonly providers: Providers
  readonly identities: Identities
  readonly secondFactor: SecondFactor
  readonly recovery: Recovery
  readonly users: IdentityUsers
  readonly audit: AuditLog<AuditEvent, AuditQuery>
  readonly mail: Mails
  readonly keys: ServiceKeys
  readonly endpoints: WebhookEndpoints
  readonly events: Events
  readonly oauth: OAuth
  readonly clients: Clients
  readonly grants: Grants
  readonly operations: IssuerOperations
  readonly #opened: OpenSession<Replies>

  constructor(baseUrl: string, options: AccountsOptions = {}) {
    const opened = openSession<PasskeyReplies & OAuthReplies>(baseUrl, options)
    const { open, calls } = opened
    super(opened)
    this.#opened = opened
    this.account = new IdentityAccount(opened)
    this.sessions = new Sessions(opened)
    this.passkeys = new Passkeys(opened)
    this.providers = new Providers(opened)
    this.identities = new Identities(calls)
    this.secondFactor = new SecondFactor(calls)
    this.recovery = new Recovery(opened)
    this.users = new IdentityUsers(opened)
    this.audit = new AuditLog(calls)
    this.mail = new Mails(opened)
    this.keys = new ServiceKeys(calls)
    this.endpoints = new WebhookEndpoints(calls)
    this.events = new Events(calls)
    this.oauth = new OAuth(opened)
    this.clients = new Clients(calls)
    this.grants = new Grants(calls)
    this.operations = new IssuerOperations(open)
  }

  /**
   * Completes a login that was refused with `MFA_REQUIRED`, with its `mfaToken` and a code.
   * @example
   * const mfaToken = identity.isProblem(error) ? error.problem.mfaToken : undefined
   * if (mfaToken) await identity.completeLogIn(mfaToken, { code: '123456' })
   */
  async completeLogIn(
    mfaToken: string,
    proof: FactorProof,
    options?: CallOptions,
  ): Promise<TokenPair> {
    const json = { mfaToken, ...proof }
    const pair = await this.#opened.open.json('POST /api/auth/mfa', { json }, options)
    this.session.adopt(pair)
    return pair
  }

  /**
   * Sends a mail with a code to sign in. The code works only together with the `requestToken`.
   * @example
   * const { requestToken } = await identity.requestSignInCode('ada@example.com')
   */
  requestSignInCode(email: string, options?: CallOptions): Promise<SignInCodeRequested> {
    return this.#opened.open.json('POST /api/auth/code', { json: { email } }, options)
  }

  /**
   * @example
   * const { requestToken } = await identity.requestSignInCode('ada@example.com')
   * await identity.signInByCode(requestToken, '1234-5678')
   */
  async signInByCode(
    requestToken: string,
    code: string,
    options?: CallOptions,
  ): Promise<TokenPair> {
    const json = { requestToken, code }
    const pair = await this.#opened.open.json('POST /api/auth/code/confirm', { json }, options)
    this.session.adopt(pair)
    return pair
  }

  /**
   * Begins to sign in with a provider. Keep the `verifier` for the page that the browser returns to: with it and the
   * `ticket` in its address, `providers.finish` signs in.
   * @example
   * const { url, verifier } = await identity.signInWith('google', 'https://app.example/signed-in')
   * sessionStorage.setItem('verifier', verifier)
   * location.assign(url)
   */
  async signInWith(
    provider: string,
    returnTo: string,
    options?: CallOptions,
  ): Promise<ProviderVisit> {
    const { verifier, challenge } = await newVerifier()
    const started = await this.providers.start(provider, { returnTo, challenge }, options)
    return { ...started, verifier }
  }

  /**
   * For calls that are refused with `REAUTHENTICATION_REQUIRED`.
   * @example
   * await identity.reauthenticate({ password: 'correct horse battery', code: '123456' })
   */
  reauthenticate(
    proof: ({ password: string } | { passkey: PasskeyAssertion }) & Partial<FactorProof>,
    options?: CallOptions,
  ): Promise<void> {
    return this.#opened.calls.nothing('POST /api/auth/reauthenticate', { json: proof }, options)
  }

  /**
   * Whether the service answered with a problem; its `code` is then one of those it has.
   * @example
   * if (identity.isProblem(error) && error.code === 'USERNAME_ALREADY_EXISTS') console.log(error.message)
   */
  isProblem(error: unknown): error is IdentityProblem {
    return error instanceof ProblemError
  }
}

/**
 * @example
 * const identity = identityClient('http://localhost:8081', { store: webStore() })
 */
export function identityClient(baseUrl: string, options?: AccountsOptions): IdentityClient {
  return new IdentityClient(baseUrl, options)
}
