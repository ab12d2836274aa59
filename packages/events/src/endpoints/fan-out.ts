import { insertDeliveries } from '../database/deliveries.repository.ts'
import { type Endpoint, listEndpoints } from '../database/endpoints.repository.ts'
import { type PlacedEvent, placeNext } from '../database/places.repository.ts'
import type { Db } from '../database/tables.ts'
import type { Events } from '../events.ts'

/**
 * Places all events committed so far in the list and creates their deliveries. Returns whether there are
 * endpoints, or undefined if there were no new events.
 */
export async function placeEvents({ db, source, clock }: Events): Promise<boolean | undefined> {
  let hasEndpoints: boolean | undefined
  for (;;) {
    const placed = await placeNext(db, source, (transaction, events) =>
      fanOut(transaction, events, clock()),
    )
    if (placed === undefined) return hasEndpoints
    hasEndpoints = placed
  }
}

/** Paused endpoints get deliveries too, and receive them once they are active again. */
async function fanOut(db: Db, placed: () => Promise<PlacedEvent[]>, now: Date): Promise<boolean> {
  const endpoints = (await listEndpoints(db)).filter(({ state }) => state !== 'disabled')
  if (endpoints.length === 0) return false
  const wanted = (await placed()).flatMap(({ serial, type, endpointId }) =>
    endpoints
      .filter((endpoint) => isFor(endpoint, { type, endpointId }))
      .map(({ id }) => ({ serial, endpointId: id, trigger: 'event' as const })),
  )
  await insertDeliveries(db, wanted, now)
  return true
}

/** Whether an endpoint gets an event: it is addressed to this endpoint, or of a type that it wants. */
export function isFor(
  { id, types }: Endpoint,
  event: { type: string; endpointId: string | null },
): boolean {
  if (event.endpointId !== null) return event.endpointId === id
  return types.length === 0 || types.includes(event.type)
}
