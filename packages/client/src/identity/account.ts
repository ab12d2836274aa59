import { type OpenSession, OwnAccount } from '../accounts.ts'
import type {
  AccountSecurity,
  MailRequested,
  Replies,
  ScheduledDeletion,
} from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'

/** The account of the user who is signed in. */
export class IdentityAccount extends OwnAccount {
  readonly #calls: Calls<Replies>
  readonly #open: Calls<Replies>

  constructor(opened: OpenSession<Replies>) {
    super(opened)
    this.#calls = opened.calls
    this.#open = opened.open
  }

  /**
   * `enrolledAt` is when the second factor was set up.
   * @example
   * const { emailVerified, secondFactor } = await identity.account.security()
   */
  security(options?: CallOptions): Promise<AccountSecurity> {
    return this.#calls.json('GET /api/users/me/security', {}, options)
  }

  /**
   * Sends a mail to the new address, which must be confirmed with `recovery.confirmEmailChange`.
   * @example
   * await identity.account.changeEmail('ada@example.org')
   */
  changeEmail(newEmail: string, options?: CallOptions): Promise<MailRequested> {
    return this.#calls.json('POST /api/users/me/email', { json: { newEmail } }, options)
  }

  /**
   * All data of the account, as JSON in the body.
   * @example
   * const data = await (await identity.account.exportData()).json()
   */
  exportData(options?: CallOptions): Promise<Response> {
    return this.#calls.response('POST /api/users/me/export/file', { stream: true }, options)
  }

  /**
   * Sends a mail: its link, or `downloadExport` with its token, returns the document.
   * @example
   * await identity.account.requestExport()
   */
  requestExport(options?: CallOptions): Promise<MailRequested> {
    return this.#calls.json('POST /api/users/me/export', {}, options)
  }

  /**
   * The document that `requestExport` sent a mail about.
   * @example
   * const data = await (await identity.account.downloadExport('the token from the mail')).json()
   */
  downloadExport(token: string, options?: CallOptions): Promise<Response> {
    const call = { json: { token }, stream: true }
    return this.#open.response('POST /api/users/me/export/download', call, options)
  }

  /**
   * The account is erased after a delay, in which `keep` cancels that.
   * @example
   * const { deletesAt } = await identity.account.delete()
   */
  delete(options?: CallOptions): Promise<ScheduledDeletion> {
    return this.#calls.json('DELETE /api/users/me', {}, options)
  }

  /**
   * Takes the token from the mail, or from a login refused with DELETION_PENDING.
   * @example
   * await identity.account.keep('the token from the mail')
   */
  keep(token: string, options?: CallOptions): Promise<void> {
    return this.#open.nothing('POST /api/users/me/deletion/cancel', { json: { token } }, options)
  }
}
