import { type OpenSession, Users } from '../accounts.ts'
import type {
  DeletedUser,
  DeletedUsers,
  Grant,
  Identity,
  Invitation,
  Passkey,
  RegistrationState,
  Replies,
  ScheduledDeletion,
  ScheduledRemoval,
  SecondFactorOfUser,
  User,
  UserStatus,
} from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import { after, type Listing, listing } from '../http/listing.ts'

/** All users. For administrators; a reason is recorded in the audit. */
export class IdentityUsers extends Users {
  readonly #calls: Calls<Replies>

  constructor(opened: OpenSession<Replies>) {
    super(opened)
    this.#calls = opened.calls
  }

  /**
   * Sends the user a mail to choose a password.
   * @example
   * const { id } = await identity.users.create({ username: 'ada', email: 'ada@example.com' })
   */
  create(invitation: Invitation, options?: CallOptions): Promise<User> {
    return this.#calls.json('POST /api/users', { json: invitation }, options)
  }

  /**
   * Whether people may register themselves: what applies, and what the settings of the service say.
   * @example
   * const { open } = await identity.users.registration()
   */
  registration(options?: CallOptions): Promise<RegistrationState> {
    return this.#calls.json('GET /api/registration', {}, options)
  }

  /**
   * Applies at once. `null` returns to what the settings say.
   * @example
   * await identity.users.changeRegistration(false)
   */
  changeRegistration(open: boolean | null, options?: CallOptions): Promise<RegistrationState> {
    return this.#calls.json('PATCH /api/registration', { json: { open } }, options)
  }

  /**
   * Also for a service key with the scope `tokens:introspect`.
   * @example
   * const { enabled } = await identity.users.status(7)
   */
  status(id: number, options?: CallOptions): Promise<UserStatus> {
    return this.#calls.json('GET /api/users/{id}/status', { path: { id } }, options)
  }

  /**
   * What the user has allowed applications.
   * @example
   * const grants = await identity.users.grants(7)
   */
  grants(id: number, options?: CallOptions): Promise<Grant[]> {
    return this.#calls.json('GET /api/users/{id}/grants', { path: { id } }, options)
  }

  /**
   * @example
   * await identity.users.revokeGrant(7, 'bT9Rk3JmQ2xvV0hQb3RqWg')
   */
  revokeGrant(id: number, clientId: string, options?: CallOptions): Promise<void> {
    const call = { path: { id, clientId } }
    return this.#calls.nothing('DELETE /api/users/{id}/grants/{clientId}', call, options)
  }

  /**
   * The account is erased after a delay, in which `keep` cancels that.
   * @example
   * const { deletesAt } = await identity.users.delete(7, 'asked by phone')
   */
  delete(id: number, reason: string, options?: CallOptions): Promise<ScheduledDeletion> {
    return this.#calls.json('DELETE /api/users/{id}', because(id, reason), options)
  }

  /**
   * @example
   * await identity.users.keep(7, 'changed their mind')
   */
  keep(id: number, reason: string, options?: CallOptions): Promise<void> {
    const call = because(id, reason)
    return this.#calls.nothing('POST /api/users/{id}/deletion/cancel', call, options)
  }

  /**
   * Which users were erased. Also for a service key with the scope `tokens:introspect`.
   * @example
   * for await (const { id, deletedAt } of identity.users.deleted()) console.log(id, deletedAt)
   */
  deleted(from?: string, options?: CallOptions): Listing<DeletedUsers, DeletedUser> {
    return listing(
      (next) => {
        const query = { after: from, ...next }
        return this.#calls.json('GET /api/users/deleted', { query }, options)
      },
      { itemsOf: ({ items }) => items, nextOf: ({ next }) => after(next) },
    )
  }

  /**
   * All data of the account, as JSON in the body.
   * @example
   * const data = await (await identity.users.exportData(7, 'asked by letter')).json()
   */
  exportData(id: number, reason: string, options?: CallOptions): Promise<Response> {
    const call = { ...because(id, reason), stream: true }
    return this.#calls.response('POST /api/users/{id}/export', call, options)
  }

  /**
   * @example
   * await identity.users.requirePasswordChange(7, 'password was shared')
   */
  requirePasswordChange(id: number, reason: string, options?: CallOptions): Promise<void> {
    const call = because(id, reason)
    return this.#calls.nothing('POST /api/users/{id}/require-password-change', call, options)
  }

  /**
   * Sends the user a mail to choose a new password.
   * @example
   * await identity.users.resetPassword(7, 'account was stolen', { keepPasskeys: false })
   */
  resetPassword(
    id: number,
    reason: string,
    more?: { keepPasskeys?: boolean | undefined },
    options?: CallOptions,
  ): Promise<void> {
    const call = { path: { id }, json: { reason, ...more } }
    return this.#calls.nothing('POST /api/users/{id}/password-reset', call, options)
  }

  /**
   * @example
   * await identity.users.resendVerification(7, 'mail got lost')
   */
  resendVerification(id: number, reason: string, options?: CallOptions): Promise<void> {
    const call = because(id, reason)
    return this.#calls.nothing('POST /api/users/{id}/verify-email', call, options)
  }

  /**
   * @example
   * const passkeys = await identity.users.passkeys(7)
   */
  passkeys(id: number, options?: CallOptions): Promise<Passkey[]> {
    return this.#calls.json('GET /api/users/{id}/passkeys', { path: { id } }, options)
  }

  /**
   * The accounts at providers that the user can sign in with.
   * @example
   * const identities = await identity.users.identities(7)
   */
  identities(id: number, options?: CallOptions): Promise<Identity[]> {
    return this.#calls.json('GET /api/users/{id}/identities', { path: { id } }, options)
  }

  /**
   * @example
   * await identity.users.removeIdentity(7, 1, 'asked by phone')
   */
  removeIdentity(
    id: number,
    identityId: number,
    reason: string,
    options?: CallOptions,
  ): Promise<void> {
    const call = { path: { id, identityId }, json: { reason } }
    return this.#calls.nothing('DELETE /api/users/{id}/identities/{identityId}', call, options)
  }

  /**
   * @example
   * await identity.users.removePasskeys(7, 'all devices were stolen')
   */
  removePasskeys(id: number, reason: string, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /api/users/{id}/passkeys', because(id, reason), options)
  }

  /**
   * @example
   * await identity.users.removePasskey(7, 'AAECAwQFBgcICQ', 'lost key')
   */
  removePasskey(
    id: number,
    credentialId: string,
    reason: string,
    options?: CallOptions,
  ): Promise<void> {
    const call = { path: { id, credentialId }, json: { reason } }
    return this.#calls.nothing('DELETE /api/users/{id}/passkeys/{credentialId}', call, options)
  }

  /**
   * @example
   * const { secondFactor, removesAt } = await identity.users.secondFactor(7)
   */
  secondFactor(id: number, options?: CallOptions): Promise<SecondFactorOfUser> {
    return this.#calls.json('GET /api/users/{id}/totp', { path: { id } }, options)
  }

  /**
   * Takes effect after a delay; the user can cancel it by using the factor.
   * @example
   * const { removesAt } = await identity.users.removeSecondFactor(7, 'lost phone')
   */
  removeSecondFactor(id: number, reason: string, options?: CallOptions): Promise<ScheduledRemoval> {
    return this.#calls.json('DELETE /api/users/{id}/totp', because(id, reason), options)
  }
}

function because(id: number, reason: string) {
  return { path: { id }, json: { reason } }
}
