import type { Db } from '@plinth/kit'
import type { PaymentTables } from './tables.ts'

/** How many checkout keys of this payment are spent although nothing came of them. */
export async function findCheckoutGeneration(
  db: Db<PaymentTables>,
  paymentId: string,
): Promise<number> {
  const row = await db
    .selectFrom('checkout_generations')
    .select('generation')
    .where('payment_id', '=', paymentId)
    .executeTakeFirst()
  return row?.generation ?? 0
}

/** Called under the payment's lock. */
export async function upsertCheckoutGeneration(
  db: Db<PaymentTables>,
  row: { paymentId: string; generation: number },
): Promise<void> {
  const { paymentId, generation } = row
  await db
    .insertInto('checkout_generations')
    .values({ payment_id: paymentId, generation })
    .onConflict((conflict) => conflict.column('payment_id').doUpdateSet({ generation }))
    .execute()
}
