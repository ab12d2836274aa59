import type { Db } from '../payment/database/tables.ts'

const NAME = 'provider-events'

/** How far the provider's list of events has been read, and the window being read. */
export type EventPoll = {
  polledUntil: Date
  window: { to: Date; after: string | null } | null
}

export async function findEventPoll(db: Db): Promise<EventPoll | undefined> {
  const row = await db
    .selectFrom('event_polls')
    .selectAll()
    .where('name', '=', NAME)
    .executeTakeFirst()
  if (!row) return undefined
  const { polled_until, window_to, window_after } = row
  const window = window_to === null ? null : { to: new Date(window_to), after: window_after }
  return { polledUntil: new Date(polled_until), window }
}

export async function upsertEventPoll(db: Db, { polledUntil, window }: EventPoll): Promise<void> {
  const content = {
    polled_until: polledUntil.toISOString(),
    window_to: window?.to.toISOString() ?? null,
    window_after: window?.after ?? null,
  }
  await db
    .insertInto('event_polls')
    .values({ name: NAME, ...content })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(content))
    .execute()
}
