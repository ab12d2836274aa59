import type { Db } from '@plinth/kit'
import type { PaymentTables } from './tables.ts'

const NAME = 'provider-events'

export async function findPolledUntil(db: Db<PaymentTables>): Promise<Date | undefined> {
  const row = await db
    .selectFrom('event_polls')
    .select('polled_until')
    .where('name', '=', NAME)
    .executeTakeFirst()
  return row && new Date(row.polled_until)
}

export async function upsertPolledUntil(db: Db<PaymentTables>, until: Date): Promise<void> {
  const polled_until = until.toISOString()
  await db
    .insertInto('event_polls')
    .values({ name: NAME, polled_until })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ polled_until }))
    .execute()
}
