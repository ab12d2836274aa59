import type { Bodies, IssuedServiceKey, Replies, ServiceKey } from './generated/storage-key.ts'
import type { CallOptions, Calls } from './http/calls.ts'

export type ServiceKeyRequest = Bodies['POST /api/service-keys']

type Operation =
  | 'POST /api/service-keys'
  | 'GET /api/service-keys'
  | 'POST /api/service-keys/{id}/rotate'
  | 'DELETE /api/service-keys/{id}'

/** Keys of programs that call the service. For administrators. */
export class ServiceKeys {
  readonly #calls: Calls<Pick<Replies, Operation>>

  constructor(calls: Calls<Pick<Replies, Operation>>) {
    this.#calls = calls
  }

  /**
   * The secret is shown only once.
   * @example
   * const { secret } = await payments.keys.create({ name: 'shop', scopes: ['payments:write'] })
   */
  create(request: ServiceKeyRequest, options?: CallOptions): Promise<IssuedServiceKey> {
    return this.#calls.json('POST /api/service-keys', { json: request }, options)
  }

  /**
   * @example
   * const keys = await payments.keys.list()
   */
  list(options?: CallOptions): Promise<ServiceKey[]> {
    return this.#calls.json('GET /api/service-keys', {}, options)
  }

  /**
   * The old key stays valid for the overlap, by default a day.
   * @example
   * const { secret } = await payments.keys.rotate(3, 3600)
   */
  rotate(id: number, overlapSeconds?: number, options?: CallOptions): Promise<IssuedServiceKey> {
    const call = { path: { id }, json: { overlapSeconds } }
    return this.#calls.json('POST /api/service-keys/{id}/rotate', call, options)
  }

  /**
   * @example
   * await payments.keys.revoke(3)
   */
  revoke(id: number, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /api/service-keys/{id}', { path: { id } }, options)
  }
}
