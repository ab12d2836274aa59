import type { OpenSession } from '../accounts.ts'
import type { CsrfToken, Passkey, Replies } from '../generated/identity.ts'
import type { CallOptions } from '../http/calls.ts'
import type { TokenPair } from '../session/stores.ts'
import type {
  NewPasskeyCredential,
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
} from './credentials.ts'

/** The documents cannot say that a string is one of WebAuthn's words. */
export type PasskeyReplies = Omit<
  Replies,
  'POST /webauthn/register/options' | 'POST /webauthn/authenticate/options'
> & {
  'POST /webauthn/register/options': PasskeyCreationOptions
  'POST /webauthn/authenticate/options': PasskeyRequestOptions
}

/** Signing in without a password. */
export class Passkeys {
  readonly #opened: OpenSession<PasskeyReplies>

  constructor(opened: OpenSession<PasskeyReplies>) {
    this.#opened = opened
  }

  /**
   * The passkeys of the user who is signed in.
   * @example
   * const passkeys = await identity.passkeys.list()
   */
  list(options?: CallOptions): Promise<Passkey[]> {
    return this.#opened.calls.json('GET /api/users/me/passkeys', {}, options)
  }

  /**
   * @example
   * const json = await identity.passkeys.creationOptions()
   * const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(json)
   * const credential = await navigator.credentials.create({ publicKey })
   * if (credential instanceof PublicKeyCredential) await identity.passkeys.add(credential, 'This browser')
   */
  async creationOptions(options?: CallOptions): Promise<PasskeyCreationOptions> {
    const call = await this.#csrf(options)
    return this.#opened.calls.json('POST /webauthn/register/options', call, options)
  }

  /**
   * @example
   * if (credential instanceof PublicKeyCredential) await identity.passkeys.add(credential, 'This browser')
   */
  async add(credential: NewPasskeyCredential, label: string, options?: CallOptions): Promise<void> {
    const json = { publicKey: { credential, label } }
    const call = { ...(await this.#csrf(options)), json }
    await this.#opened.calls.nothing('POST /webauthn/register', call, options)
  }

  /**
   * @example
   * await identity.passkeys.remove('AAECAwQFBgcICQ')
   */
  async remove(credentialId: string, options?: CallOptions): Promise<void> {
    const call = { ...(await this.#csrf(options)), path: { credentialId } }
    await this.#opened.calls.nothing('DELETE /webauthn/register/{credentialId}', call, options)
  }

  /**
   * @example
   * const json = await identity.passkeys.requestOptions()
   * const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json)
   * const credential = await navigator.credentials.get({ publicKey })
   * if (credential instanceof PublicKeyCredential) await identity.passkeys.logIn(credential)
   */
  async requestOptions(options?: CallOptions): Promise<PasskeyRequestOptions> {
    const call = await this.#csrf(options)
    return this.#opened.open.json('POST /webauthn/authenticate/options', call, options)
  }

  /**
   * @example
   * if (credential instanceof PublicKeyCredential) await identity.passkeys.logIn(credential)
   */
  async logIn(credential: PasskeyAssertion, options?: CallOptions): Promise<TokenPair> {
    const call = { ...(await this.#csrf(options)), json: credential }
    const pair = await this.#opened.open.json('POST /login/webauthn', call, options)
    this.#opened.session.adopt(pair)
    return pair
  }

  /**
   * The token that the calls above send by themselves.
   * @example
   * const { headerName, token } = await identity.passkeys.csrfToken()
   */
  csrfToken(options?: CallOptions): Promise<CsrfToken> {
    return this.#opened.open.json('GET /webauthn/csrf', {}, options)
  }

  async #csrf(options?: CallOptions) {
    const { token } = await this.csrfToken(options)
    return { headers: { 'x-xsrf-token': token } }
  }
}
