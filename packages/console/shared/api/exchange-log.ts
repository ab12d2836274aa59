import { signal } from '@preact/signals'

export const FORM = 'application/x-www-form-urlencoded'

/** One request as the inspector shows it: secrets are already replaced by placeholders. */
export type Exchange = {
  id: number
  method: string
  path: string
  requestHeaders: Record<string, string>
  requestBody?: unknown
  requestFile?: { name: string; type: string }
  /** The bytes of a file that are the body. */
  requestPiece?: { name: string; from: number; to: number }
  outcome?: Outcome
  /** The current credential headers, for a copy that includes them. */
  credentials?(): Record<string, string>
  /** Cancelled by the user, so not a failure of the service. */
  cancelled?: boolean
  resend(): void
}

export type Outcome = {
  status: number
  durationMs: number
  sizeBytes: number
  headers: Record<string, string>
  body: string
}

const KEPT = 40
let lastId = 0

export const exchanges = signal<Exchange[]>([])
export const selectedExchange = signal<number | undefined>(undefined)

export function recordRequest(exchange: Omit<Exchange, 'id'>): number {
  lastId += 1
  exchanges.value = [{ ...exchange, id: lastId }, ...exchanges.value].slice(0, KEPT)
  selectedExchange.value = lastId
  return lastId
}

export function recordOutcome(id: number, outcome: Outcome, cancelled = false): void {
  exchanges.value = exchanges.value.map((each) =>
    each.id === id ? { ...each, outcome, cancelled } : each,
  )
}
