import { countReplies, type Server } from '@plinth/kit/http'
import { type Metrics, measureDisks } from '@plinth/kit/metrics'
import type { Payments } from './payment/context.ts'
import { countPaymentsToCheck } from './payment/database/payments.repository.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from './payment/state.ts'
import { countEventsToRetry } from './webhooks/events.ts'

/** Registers the metrics about payments. Must be called before the routes are added. */
export function measurePayments(server: Server, { db }: Payments, dataFolder: string): void {
  const { metrics } = server
  countReplies(
    server,
    { name: 'plinth_checkouts_total', help: 'Requests for a checkout by result.' },
    { 'POST /api/checkout/sessions': {} },
  )
  countReplies(
    server,
    { name: 'plinth_refunds_total', help: 'Requests for a refund by result.' },
    { 'POST /api/payments/:id/refund': {} },
  )
  countReplies(
    server,
    { name: 'plinth_webhooks_total', help: 'Deliveries of the provider by result.' },
    { 'POST /api/provider/webhook': {} },
  )
  metrics.gauge(
    { name: 'plinth_payments_unfinished', help: 'Payments the provider owes an answer about.' },
    () => countPaymentsToCheck(db),
  )
  metrics.gauge(
    { name: 'plinth_webhook_backlog', help: 'Events that could not be applied and are retried.' },
    () => countEventsToRetry(db),
  )
  measureDisks(metrics, { data: dataFolder })
}

/** Counts payments each time they reach a status; one payment may reach a status several times. */
export function countPayments(metrics: Metrics): (status: PaymentStatus) => void {
  const count = metrics.counter({
    name: 'plinth_payments_total',
    help: 'Payments that have reached a status.',
    labels: ['status'],
    known: PAYMENT_STATUSES.map((status) => ({ status })),
  })
  return (status) => count({ status })
}
