import { useEffect, useRef } from 'preact/hooks'
import { createApi, type Options, type Reply } from '../shared/api/api.ts'
import type { HealthReplies } from '../shared/api/shared-operations.ts'
import { useLoad } from '../shared/api/use-reply.ts'

let controlToken = ''

/** Where SANDBOX_CONTROL_TOKEN is set, the controls need it. It stays in the memory of this page. */
export function setControlToken(token: string): void {
  controlToken = token
}

export type Clock = { now: string; offsetSeconds: number }

export type Switches = {
  paused: boolean
  drop: string[]
  delaySeconds: number
  duplicates: number
  reorder: number
  eventSecond: number | null
  signWith: string
  refunds: string
  amountLimits: boolean
}

export type Fault = {
  id: number
  kind: string
  route: string
  remaining: number | null
  probability: number
  delayMs: number | null
}

export type Faults = { faults: Fault[]; kinds: Record<string, { about: string }> }

export type Amounts = { captured: number; refunded: number; pending: number; kept: number }

export type Payment = Amounts & { paymentIntent: string; status: string; currency: string }

export type Books = { payments: Payment[]; totals: Record<string, Amounts> }

export type Refund = {
  id: string
  amount: number
  currency: string
  status: string
  payment_intent: string
  created: number
}

export type CheckoutSession = {
  id: string
  amount_total: number
  currency: string
  status: 'open' | 'complete' | 'expired'
  payment_status: string
  payment_intent: string | null
  url: string | null
  created: number
}

type Outcome = { outcome?: { state: string } } | undefined

export type LoggedRequest = {
  id: string
  at: string
  method: string
  path: string
  idempotencyKey: string | null
  status: number
  replayed: boolean
  fault: string | null
}

export type Message = { headers: Record<string, string>; body: string }

export type Attempt = {
  at: string
  milliseconds: number
  request: Message
  response: (Message & { status: number }) | null
  error: string | null
}

export type Delivery = {
  id: number
  eventId: string
  eventType: string | null
  state: string
  nextAttemptAt: string | null
  attempts: Attempt[]
}

export type Endpoint = { id: string; url: string; enabledEvents: string[] }

/** They have no API document. */
type Controls = {
  'GET /sandbox/api/books': Books
  'GET /sandbox/api/clock': Clock
  'DELETE /sandbox/api/clock': Clock
  'POST /sandbox/api/clock/advance': Clock
  'GET /sandbox/api/deliveries': Delivery[]
  'POST /sandbox/api/deliveries/flush': unknown
  'POST /sandbox/api/events/{id}/resend': unknown
  'GET /sandbox/api/faults': Faults
  'POST /sandbox/api/faults': unknown
  'DELETE /sandbox/api/faults': unknown
  'DELETE /sandbox/api/faults/{id}': unknown
  'POST /sandbox/api/faults/release': { released: number }
  'GET /sandbox/api/refunds': Refund[]
  'POST /sandbox/api/refunds/{id}/{action}': unknown
  'GET /sandbox/api/requests': LoggedRequest[]
  'POST /sandbox/api/reset': unknown
  'PUT /sandbox/api/scenario': unknown
  'GET /sandbox/api/sessions': CheckoutSession[]
  'POST /sandbox/api/sessions/{id}/{action}': Outcome
  'GET /sandbox/api/switches': Switches
  'PATCH /sandbox/api/switches': Switches
  'DELETE /sandbox/api/switches': Switches
  'GET /sandbox/api/webhook-endpoints': Endpoint[]
  'POST /sandbox/api/webhook-endpoints': unknown
  'DELETE /sandbox/api/webhook-endpoints/{id}': unknown
}

export const api = createApi<Controls & HealthReplies>({
  headers: (): Record<string, string> =>
    controlToken === '' ? {} : { Authorization: `Bearer ${controlToken}` },
})

const POLL_MILLISECONDS = 2000

/**
 * Loads a control and keeps it current. Polls are not shown in the inspector, and the last value stays
 * when one fails.
 */
export function useCurrent<Body>(read: (options: Options) => Promise<Reply<Body>>) {
  const shown = useRef(false)
  const last = useRef<Body | undefined>(undefined)
  const load = useLoad(() => {
    const silent = shown.current
    shown.current = true
    return read({ silent })
  })
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) load.reload()
    }, POLL_MILLISECONDS)
    return () => clearInterval(timer)
  }, [])
  last.current = load.body ?? last.current
  return { ...load, body: last.current }
}
