import type * as identity from './generated/identity.ts'
import type * as storageKey from './generated/storage-key.ts'
import type { CallOptions, Calls } from './http/calls.ts'

/** A service that is DEGRADED takes requests, and refuses those that would store something. */
export type Health = storageKey.Up | storageKey.Down

type Reply<Operation extends keyof storageKey.Replies> = Promise<storageKey.Replies[Operation]>

type Operation =
  | 'GET /'
  | 'GET /openapi.json'
  | 'GET /actuator'
  | 'GET /actuator/info'
  | 'GET /actuator/health'
  | 'GET /actuator/health/liveness'
  | 'GET /actuator/health/readiness'

/**
 * What every service answers. The key edition of storage answers those of the actuator, except `health`, with
 * `STORAGE_KEY_ACTUATOR=full`.
 */
export class Operations {
  readonly #calls: Calls<Pick<storageKey.Replies, Operation>>

  constructor(calls: Calls<Pick<storageKey.Replies, Operation>>) {
    this.#calls = calls
  }

  /**
   * The name and version of the service, and links.
   * @example
   * const { version } = await identity.operations.index()
   */
  index(options?: CallOptions): Reply<'GET /'> {
    return this.#calls.json('GET /', {}, options)
  }

  /**
   * UP, DEGRADED or DOWN; it throws only if there is no answer.
   * @example
   * const { status } = await identity.operations.health({ timeoutMs: 2_000 })
   */
  health(options?: CallOptions): Promise<Health> {
    return this.#calls.json('GET /actuator/health', ALSO_DOWN, options)
  }

  /**
   * Whether the process works.
   * @example
   * const { status } = await identity.operations.liveness()
   */
  liveness(options?: CallOptions): Promise<Health> {
    return this.#calls.json('GET /actuator/health/liveness', ALSO_DOWN, options)
  }

  /**
   * Whether requests should be sent here.
   * @example
   * const { status } = await identity.operations.readiness()
   */
  readiness(options?: CallOptions): Promise<Health> {
    return this.#calls.json('GET /actuator/health/readiness', ALSO_DOWN, options)
  }

  /**
   * The OpenAPI document of the service.
   * @example
   * const document = await identity.operations.openApi()
   */
  openApi(options?: CallOptions): Reply<'GET /openapi.json'> {
    return this.#calls.json('GET /openapi.json', {}, options)
  }

  /**
   * Links to the actuator's other pages.
   * @example
   * const { _links } = await identity.operations.actuator()
   */
  actuator(options?: CallOptions): Reply<'GET /actuator'> {
    return this.#calls.json('GET /actuator', {}, options)
  }

  /**
   * The version of the service's contract.
   * @example
   * const { app } = await identity.operations.info()
   */
  info(options?: CallOptions): Reply<'GET /actuator/info'> {
    return this.#calls.json('GET /actuator/info', {}, options)
  }
}

/** A reply that says DOWN is no failure of the call. */
export const ALSO_DOWN: { accept: number[] } = { accept: [503] }

/** Public keys to verify access tokens with (RFC 7517). */
export type JsonWebKeys = identity.Replies['GET /.well-known/jwks.json']

export type ProtectedResource = Pick<
  identity.Replies,
  Operation | 'GET /.well-known/oauth-protected-resource'
>

/** A service that accepts the tokens of an issuer. */
export class ProtectedOperations extends Operations {
  readonly #calls: Calls<ProtectedResource>

  constructor(calls: Calls<ProtectedResource>) {
    super(calls)
    this.#calls = calls
  }

  /**
   * Whose tokens the service accepts (RFC 9728).
   * @example
   * const { authorization_servers } = await payments.operations.protectedResource()
   */
  protectedResource(options?: CallOptions): Promise<identity.ProtectedResourceMetadata> {
    return this.#calls.json('GET /.well-known/oauth-protected-resource', {}, options)
  }
}

/** A service that issues access tokens. */
export class IssuerOperations extends ProtectedOperations {
  readonly #calls: Calls<IssuerReplies>

  constructor(calls: Calls<IssuerReplies>) {
    super(calls)
    this.#calls = calls
  }

  /**
   * Public keys to verify access tokens with (RFC 7517).
   * @example
   * const { keys } = await identity.operations.jwks()
   */
  jwks(options?: CallOptions): Promise<JsonWebKeys> {
    return this.#calls.json('GET /.well-known/jwks.json', {}, options)
  }
}

type IssuerReplies = ProtectedResource & Pick<identity.Replies, 'GET /.well-known/jwks.json'>
