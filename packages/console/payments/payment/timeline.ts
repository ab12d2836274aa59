import type { Observation } from './observation.ts'

type Attempt = {
  reference: string
  state: string
  sessionId: string | null
  expiresAt: string | null
  url: string | null
}

/** Everything the service knows about a payment, and why its status is what it is. */
export type Timeline = {
  explanation: string
  anomalies: string[]
  refundableAmount: number
  attempts: Attempt[]
  refunds: { id: string; amount: number; status: string }[]
  observations: Observation[]
}
