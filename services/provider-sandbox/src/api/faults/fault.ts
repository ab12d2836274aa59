/** Where in the life of a call a fault strikes. */
type Stage = 'before' | 'during' | 'after'

/**
 * What can go wrong on demand: `before` the idempotency key is read and anything is done, `during`
 * the time the call holds the key, `after` the work is done.
 */
export const FAULT_KINDS = {
  latency: { stage: 'during', about: 'answers late' },
  hang: { stage: 'during', about: 'never answers, nothing is done' },
  hold: { stage: 'after', about: 'works, but holds the answer until it is released' },
  'reset-before': { stage: 'before', about: 'breaks the connection, nothing is done' },
  'reset-after': { stage: 'after', about: 'works, then breaks the connection' },
  'error-before': { stage: 'before', about: '500, nothing is done or remembered' },
  'error-instead': { stage: 'during', about: '500, which the key remembers, nothing is done' },
  'error-after': { stage: 'after', about: 'works, but answers 500, which the key remembers' },
  'in-use': { stage: 'before', about: '409 idempotency_key_in_use' },
  unauthorized: { stage: 'before', about: '401' },
  forbidden: { stage: 'before', about: '403' },
  'rate-limit': { stage: 'before', about: '429 with Retry-After' },
  'html-before': { stage: 'before', about: '502 with a page from a proxy, nothing is done' },
  'html-after': { stage: 'after', about: 'works, but answers 200 with a page from a proxy' },
  truncated: { stage: 'after', about: 'works, but the answer ends half-way' },
  outage: { stage: 'before', about: 'breaks every connection until it is removed' },
} as const satisfies Record<string, { stage: Stage; about: string }>

export type FaultKind = keyof typeof FAULT_KINDS

export type Fault = {
  id: number
  /** `POST /v1/refunds`, `GET /v1/refunds/:id`, or `*` for every call. */
  route: string
  kind: FaultKind
  /** How many more calls it strikes; null means until it is removed. */
  remaining: number | null
  /** The share of calls it strikes, drawn from the seed. */
  probability: number
  delayMs: number | null
  retryAfterSeconds: number
}
