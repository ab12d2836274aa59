import type { CallOptions, Calls } from './http/calls.ts'
import { type Listing, type Page, pages } from './http/listing.ts'

/** Who did what, newest first. For administrators. */
export class AuditLog<Event, Query extends object> {
  readonly #calls: Calls<{ 'GET /api/audit': Page<Event> }>

  constructor(calls: Calls<{ 'GET /api/audit': Page<Event> }>) {
    this.#calls = calls
  }

  /**
   * @example
   * for await (const { at, event, actor } of identity.audit.list({ size: 100 })) console.log(at, event, actor)
   */
  list(query?: Query, options?: CallOptions): Listing<Page<Event>, Event> {
    return pages((next) =>
      this.#calls.json('GET /api/audit', { query: { ...query, ...next } }, options),
    )
  }
}
