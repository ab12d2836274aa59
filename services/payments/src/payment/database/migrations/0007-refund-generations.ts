import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/**
 * Refunds counted their spent keys in their own rows. From now on each payment has one count, which starts
 * beyond every key that a refused refund has spent.
 */
export const refundGenerationsMigration: Migration = {
  name: 'payments-0007-refund-generations',
  up: async (db) => {
    await sql`insert into checkout_generations (payment_id, generation)
      select payment_id, max(generation) + 1 from refund_intents where state = 'refused' group by payment_id
      on conflict (payment_id) do update
      set generation = checkout_generations.generation + excluded.generation`.execute(db)
  },
}
