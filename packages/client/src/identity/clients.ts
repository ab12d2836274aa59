import type {
  Client,
  ClientChange,
  ClientPage,
  ClientSecret,
  IssuedClient,
  NewClient,
  Queries,
  Replies,
} from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import { type Listing, pages } from '../http/listing.ts'

export type ClientQuery = Queries['GET /api/clients']

/** Applications that users sign in to with an account of this service. For administrators. */
export class Clients {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * The secret is shown only once.
   * @example
   * const { clientId, clientSecret } = await identity.clients.create({ name: 'Shop', redirectUris: ['https://shop.example/callback'] })
   */
  create(client: NewClient, options?: CallOptions): Promise<IssuedClient> {
    return this.#calls.json('POST /api/clients', { json: client }, options)
  }

  /**
   * @example
   * for await (const { name } of identity.clients.list()) console.log(name)
   */
  list(query: ClientQuery = {}, options?: CallOptions): Listing<ClientPage, Client> {
    return pages((next) =>
      this.#calls.json('GET /api/clients', { query: { ...query, ...next } }, options),
    )
  }

  /**
   * @example
   * const { redirectUris } = await identity.clients.get('bT9Rk3JmQ2xvV0hQb3RqWg')
   */
  get(clientId: string, options?: CallOptions): Promise<Client> {
    return this.#calls.json('GET /api/clients/{clientId}', { path: { clientId } }, options)
  }

  /**
   * A disabled client can do nothing, and the sessions of its users end.
   * @example
   * await identity.clients.update('bT9Rk3JmQ2xvV0hQb3RqWg', { enabled: false })
   */
  update(clientId: string, change: ClientChange, options?: CallOptions): Promise<Client> {
    const call = { path: { clientId }, json: change }
    return this.#calls.json('PATCH /api/clients/{clientId}', call, options)
  }

  /**
   * Its sessions and what users have allowed it are gone with it.
   * @example
   * await identity.clients.delete('bT9Rk3JmQ2xvV0hQb3RqWg')
   */
  delete(clientId: string, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /api/clients/{clientId}', { path: { clientId } }, options)
  }

  /**
   * The old secret stays valid for the overlap, by default not at all.
   * @example
   * const { clientSecret } = await identity.clients.rotateSecret('bT9Rk3JmQ2xvV0hQb3RqWg', 3600)
   */
  rotateSecret(
    clientId: string,
    overlapSeconds?: number,
    options?: CallOptions,
  ): Promise<ClientSecret> {
    const call = { path: { clientId }, json: { overlapSeconds } }
    return this.#calls.json('POST /api/clients/{clientId}/rotate-secret', call, options)
  }
}
