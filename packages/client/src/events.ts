import type {
  Bodies,
  EventDetail,
  EventForwardReport,
  EventPage,
  NewWebhookEndpoint,
  Queries,
  Repeated,
  Replies,
  SentTest,
  WebhookEndpoint,
  WebhookEndpointChange,
  WebhookEndpointRequest,
  WebhookSecret,
} from './generated/payments.ts'
import type { CallOptions, Calls } from './http/calls.ts'
import { after, type Listing, listing } from './http/listing.ts'
import type { WebhookEvent } from './webhooks.ts'

export type EventQuery = Queries['GET /api/events/stream']
export type EventListQuery = Omit<Queries['GET /api/events'], 'limit'> & {
  /** From 1 to 100. */
  limit?: number | undefined
}

export type EventReplies = Pick<
  Replies,
  Extract<keyof Replies, `${string} /api/${'events' | 'webhooks/endpoints'}${string}`>
>

/** What has happened at the service. */
export class Events {
  readonly #calls: Calls<EventReplies>

  constructor(calls: Calls<EventReplies>) {
    this.#calls = calls
  }

  /**
   * @example
   * for await (const event of payments.events.list({ types: 'payment.paid' })) console.log(event.id)
   */
  list(query?: EventListQuery, options?: CallOptions): Listing<EventPage, WebhookEvent> {
    return listing(
      (next) => this.#calls.json('GET /api/events', { query: { ...query, ...next } }, options),
      { itemsOf: ({ items }) => items, nextOf: ({ next }) => after(next) },
    )
  }

  /**
   * An event, and how it was delivered.
   * @example
   * const { deliveries } = await payments.events.get('evt_0190163d8694739bd3b5f2c61e4a')
   */
  get(id: string, options?: CallOptions): Promise<EventDetail> {
    return this.#calls.json('GET /api/events/{id}', { path: { id } }, options)
  }

  /**
   * Delivers an event again, to one endpoint or to all.
   * @example
   * const { count } = await payments.events.replay('evt_0190163d8694739bd3b5f2c61e4a')
   */
  replay(id: string, endpointId?: string, options?: CallOptions): Promise<Repeated> {
    const call = { path: { id }, json: { endpointId } }
    return this.#calls.json('POST /api/events/{id}/replay', call, options)
  }

  /**
   * For a reader of the stream that forwards events: records what the receiver answered.
   * @example
   * const forward = { url: 'http://localhost:3000', durationMs: 12, status: 204, error: null }
   * await payments.events.recordForward('evt_0190163d8694739bd3b5f2c61e4a', forward)
   */
  recordForward(id: string, forward: EventForwardReport, options?: CallOptions): Promise<void> {
    const call = { path: { id }, json: forward }
    return this.#calls.nothing('POST /api/events/{id}/forwards', call, options)
  }

  /**
   * Server-sent events, in the body, until `signal` aborts.
   * @example
   * const { body } = await payments.events.stream({}, { signal: AbortSignal.timeout(60_000) })
   */
  stream(query?: EventQuery, options?: CallOptions): Promise<Response> {
    return this.#calls.response('GET /api/events/stream', { query, stream: true }, options)
  }
}

/** Where the service sends its events. */
export class WebhookEndpoints {
  readonly #calls: Calls<EventReplies>

  constructor(calls: Calls<EventReplies>) {
    this.#calls = calls
  }

  /**
   * The secret is for `verifyWebhook`.
   * @example
   * const { secret } = await payments.endpoints.create({ url: 'https://shop.example/webhooks' })
   */
  create(request: WebhookEndpointRequest, options?: CallOptions): Promise<NewWebhookEndpoint> {
    return this.#calls.json('POST /api/webhooks/endpoints', { json: request }, options)
  }

  /**
   * @example
   * const endpoints = await payments.endpoints.list()
   */
  list(options?: CallOptions): Promise<WebhookEndpoint[]> {
    return this.#calls.json('GET /api/webhooks/endpoints', {}, options)
  }

  /**
   * @example
   * const { state } = await payments.endpoints.get('ep_2f1c7a9b8e6d5f4c3a2b1908')
   */
  get(id: string, options?: CallOptions): Promise<WebhookEndpoint> {
    return this.#calls.json('GET /api/webhooks/endpoints/{id}', { path: { id } }, options)
  }

  /**
   * @example
   * await payments.endpoints.update('ep_2f1c7a9b8e6d5f4c3a2b1908', { state: 'paused' })
   */
  update(
    id: string,
    change: WebhookEndpointChange,
    options?: CallOptions,
  ): Promise<WebhookEndpoint> {
    const call = { path: { id }, json: change }
    return this.#calls.json('PATCH /api/webhooks/endpoints/{id}', call, options)
  }

  /**
   * @example
   * await payments.endpoints.delete('ep_2f1c7a9b8e6d5f4c3a2b1908')
   */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /api/webhooks/endpoints/{id}', { path: { id } }, options)
  }

  /**
   * @example
   * const { secret } = await payments.endpoints.secret('ep_2f1c7a9b8e6d5f4c3a2b1908')
   */
  secret(id: string, options?: CallOptions): Promise<WebhookSecret> {
    return this.#calls.json('GET /api/webhooks/endpoints/{id}/secret', { path: { id } }, options)
  }

  /**
   * The old secret also keeps signing for a day.
   * @example
   * const { secret } = await payments.endpoints.rotateSecret('ep_2f1c7a9b8e6d5f4c3a2b1908')
   */
  rotateSecret(id: string, options?: CallOptions): Promise<WebhookSecret> {
    const call = { path: { id } }
    return this.#calls.json('POST /api/webhooks/endpoints/{id}/rotate-secret', call, options)
  }

  /**
   * Sends a `ping`.
   * @example
   * const { eventId } = await payments.endpoints.test('ep_2f1c7a9b8e6d5f4c3a2b1908')
   */
  test(id: string, options?: CallOptions): Promise<SentTest> {
    return this.#calls.json('POST /api/webhooks/endpoints/{id}/test', { path: { id } }, options)
  }

  /**
   * Sends the events of a span of time again.
   * @example
   * await payments.endpoints.recover('ep_2f1c7a9b8e6d5f4c3a2b1908', { since: '2030-01-01T12:00:00Z' })
   */
  recover(
    id: string,
    span: Bodies['POST /api/webhooks/endpoints/{id}/recover'],
    options?: CallOptions,
  ): Promise<Repeated> {
    const call = { path: { id }, json: span }
    return this.#calls.json('POST /api/webhooks/endpoints/{id}/recover', call, options)
  }
}
