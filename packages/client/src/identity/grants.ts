import type { Grant, Replies } from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'

/** What the user who is signed in has allowed applications. */
export class Grants {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * @example
   * for (const { client, scopes } of await identity.grants.list()) console.log(client.name, scopes)
   */
  list(options?: CallOptions): Promise<Grant[]> {
    return this.#calls.json('GET /api/users/me/grants', {}, options)
  }

  /**
   * The application loses its access at once, and has to ask again.
   * @example
   * await identity.grants.revoke('bT9Rk3JmQ2xvV0hQb3RqWg')
   */
  revoke(clientId: string, options?: CallOptions): Promise<void> {
    const call = { path: { clientId } }
    return this.#calls.nothing('DELETE /api/users/me/grants/{clientId}', call, options)
  }
}
