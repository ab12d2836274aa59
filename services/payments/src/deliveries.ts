import type { ProviderEvent } from './provider/provider.ts'
import type { InboxEvent } from './webhook-events.repository.ts'

/** A proven event as it came in. */
export type Delivery = { event: ProviderEvent; body: string; source: 'webhook' | 'poll' }

export type Acknowledgement = {
  eventId: string
  eventType: string
  status: 'PROCESSED' | 'IGNORED'
  duplicate: boolean
}

type Named = Omit<Delivery, 'event'> & { event: Pick<ProviderEvent, 'id' | 'type'> }

export function newClaim({ event, body, source }: Named, at: Date): InboxEvent {
  const now = at.toISOString()
  return {
    id: event.id,
    type: event.type,
    status: 'PROCESSED',
    source,
    body,
    paymentId: null,
    parkedFor: null,
    tries: 1,
    nextTryAt: null,
    error: null,
    receivedAt: now,
    processedAt: now,
  }
}
