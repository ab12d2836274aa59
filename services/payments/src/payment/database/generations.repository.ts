import type { Db } from './tables.ts'

/** How many idempotency keys of this payment were spent without creating a session or refund. */
export async function findGeneration(db: Db, paymentId: string): Promise<number> {
  const row = await db
    .selectFrom('checkout_generations')
    .select('generation')
    .where('payment_id', '=', paymentId)
    .executeTakeFirst()
  return row?.generation ?? 0
}

export async function raiseGeneration(db: Db, paymentId: string): Promise<void> {
  await db
    .insertInto('checkout_generations')
    .values({ payment_id: paymentId, generation: 1 })
    .onConflict((conflict) =>
      conflict
        .column('payment_id')
        .doUpdateSet((set) => ({ generation: set('checkout_generations.generation', '+', 1) })),
    )
    .execute()
}
