import { type FromRow, forUpdate, fromRow, inTransaction, toRow } from '@plinth/kit/database'
import { MAX_FORWARDS } from '../limits.ts'
import type { Db, ForwardRow } from './tables.ts'

export type Forward = Omit<FromRow<ForwardRow>, 'eventSerial'>

/** Numbers the forward after the last one of the event, and keeps only the newest. */
export async function insertForward(
  db: Db,
  serial: number,
  forward: Omit<Forward, 'n'>,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const event = transaction.selectFrom('events').select('serial').where('serial', '=', serial)
    await forUpdate(transaction, event).execute()
    const { last } = await transaction
      .selectFrom('event_forwards')
      .select(({ fn }) => fn.max('n').as('last'))
      .where('event_serial', '=', serial)
      .executeTakeFirstOrThrow()
    const n = (last ?? 0) + 1
    const row = toRow<ForwardRow>({ ...forward, eventSerial: serial, n })
    await transaction.insertInto('event_forwards').values(row).execute()
    await transaction
      .deleteFrom('event_forwards')
      .where('event_serial', '=', serial)
      .where('n', '<=', n - MAX_FORWARDS)
      .execute()
  })
}

export async function listForwardsOf(db: Db, serial: number): Promise<Forward[]> {
  const rows = await db
    .selectFrom('event_forwards')
    .selectAll()
    .where('event_serial', '=', serial)
    .orderBy('n')
    .execute()
  return rows.map((row) => {
    const { eventSerial: _, ...forward } = fromRow(row)
    return forward
  })
}
