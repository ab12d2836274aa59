import type { OpenSession } from '../accounts.ts'
import type {
  Brand,
  LinkState,
  MailRequested,
  PendingEmailChange,
  PendingVerification,
  Replies,
} from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'

/** The token from the link in a mail, or the address and the code. */
export type MailProof = { token: string } | { email: string; code: string }

/** What a user does with the mails of the service; most of it works without a session. */
export class Recovery {
  readonly #open: Calls<Replies>
  readonly #calls: Calls<Replies>

  constructor({ open, calls }: OpenSession<Replies>) {
    this.#open = open
    this.#calls = calls
  }

  /**
   * @example
   * await identity.recovery.requestPasswordReset('ada@example.com')
   */
  requestPasswordReset(email: string, options?: CallOptions): Promise<MailRequested> {
    return this.#open.json('POST /api/auth/password-reset', { json: { email } }, options)
  }

  /**
   * An account with a second factor also needs its code.
   * @example
   * await identity.recovery.confirmPasswordReset({ token: 'from the mail' }, 'correct horse battery')
   */
  confirmPasswordReset(
    proof: MailProof & { totp?: string | undefined; recoveryCode?: string | undefined },
    newPassword: string,
    options?: CallOptions,
  ): Promise<void> {
    const call = { json: { ...proof, newPassword } }
    return this.#open.nothing('POST /api/auth/password-reset/confirm', call, options)
  }

  /**
   * @example
   * await identity.recovery.verifyEmail({ email: 'ada@example.com', code: '123456' })
   */
  verifyEmail(proof: MailProof, options?: CallOptions): Promise<void> {
    return this.#open.nothing('POST /api/auth/verify-email', { json: proof }, options)
  }

  /**
   * The account that an unused link is for.
   * @example
   * const { username, email } = await identity.recovery.pendingVerification('from the mail')
   */
  pendingVerification(token: string, options?: CallOptions): Promise<PendingVerification> {
    return this.#open.json('POST /api/auth/verify-email/pending', { json: { token } }, options)
  }

  /**
   * Sent to the user's own address if none is given.
   * @example
   * await identity.recovery.resendVerification('ada@example.com')
   */
  resendVerification(email?: string, options?: CallOptions): Promise<MailRequested> {
    const calls = email === undefined ? this.#calls : this.#open
    return calls.json('POST /api/auth/verify-email/resend', { json: { email } }, options)
  }

  /**
   * Why a link does not work; a link that works is `unknown` too.
   * @example
   * const { state } = await identity.recovery.linkState('from the mail')
   */
  linkState(token: string, options?: CallOptions): Promise<LinkState> {
    return this.#open.json('POST /api/auth/links/state', { json: { token } }, options)
  }

  /**
   * The account that an unused link is for.
   * @example
   * const { username, email } = await identity.recovery.pendingEmailChange('from the mail')
   */
  pendingEmailChange(token: string, options?: CallOptions): Promise<PendingEmailChange> {
    return this.#open.json('POST /api/users/me/email/pending', { json: { token } }, options)
  }

  /**
   * @example
   * await identity.recovery.confirmEmailChange({ token: 'from the mail' })
   */
  confirmEmailChange(proof: MailProof, options?: CallOptions): Promise<void> {
    return this.#open.nothing('POST /api/users/me/email/confirm', { json: proof }, options)
  }

  /**
   * With the token of the mail to the old address.
   * @example
   * await identity.recovery.undoEmailChange('from the mail')
   */
  undoEmailChange(token: string, options?: CallOptions): Promise<void> {
    return this.#open.nothing('POST /api/users/me/email/undo', { json: { token } }, options)
  }

  /**
   * "This was not me": with the token of a notice, or of the mail after a registration.
   * @example
   * await identity.recovery.denyOwnership('from the mail')
   */
  denyOwnership(token: string, options?: CallOptions): Promise<void> {
    return this.#open.nothing('POST /api/auth/not-me', { json: { token } }, options)
  }

  /**
   * How the account pages look, and how long a password must be.
   * @example
   * const { name, passwordMinLength } = await identity.recovery.brand()
   */
  brand(options?: CallOptions): Promise<Brand> {
    return this.#open.json('GET /account/brand', {}, options)
  }
}
