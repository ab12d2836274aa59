import { type PageRequest, pageOf } from '@plinth/kit'
import { paymentReply } from './payment-reply.ts'
import { listPayments } from './payments.repository.ts'
import type { Payments } from './payments.ts'
import { type InboxEvent, listEvents } from './webhook-events.repository.ts'

export { PAYMENT_SORTS } from './payments.repository.ts'
export { EVENT_SORTS } from './webhook-events.repository.ts'

export async function pageOfPayments(
  { db }: Payments,
  filter: { businessReference?: string },
  page: PageRequest,
) {
  if (matchesNothing(filter)) return pageOf([], 0, page)
  const { payments, total } = await listPayments(db, filter, page)
  const shown = payments.map((payment) => ({
    ...paymentReply(payment),
    anomalies: payment.anomalies,
  }))
  return pageOf(shown, total, page)
}

export async function pageOfEvents(
  { db }: Payments,
  filter: { status?: string; type?: string },
  page: PageRequest,
) {
  if (matchesNothing(filter)) return pageOf([], 0, page)
  const { events, total } = await listEvents(db, filter, page)
  return pageOf(events.map(shownEvent), total, page)
}

/** Nothing that is stored holds NUL, and PostgreSQL refuses to be asked for it. */
function matchesNothing(filter: Record<string, string | undefined>): boolean {
  return Object.values(filter).some((value) => value?.includes('\u0000'))
}

function shownEvent({ body, ...event }: InboxEvent) {
  return { ...event, sizeBytes: Buffer.byteLength(body) }
}
