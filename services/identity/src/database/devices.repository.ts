import { type Db, deleteUntil, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { IdentityTables } from './tables.ts'

type DeviceRow = IdentityTables['device_requests']

export type DeviceRequest = FromRow<DeviceRow>

/** Returns whether the user code was free. */
export async function insertDevice(
  db: Db<IdentityTables>,
  device: DeviceRequest,
): Promise<boolean> {
  const inserted = await db
    .insertInto('device_requests')
    .values(toRow<DeviceRow>(device))
    .onConflict((conflict) => conflict.column('user_code').doNothing())
    .returning('device_hash')
    .executeTakeFirst()
  return inserted !== undefined
}

export async function findWaitingDevice(
  db: Db<IdentityTables>,
  userCode: string,
  now: Date,
): Promise<DeviceRequest | undefined> {
  const row = await db
    .selectFrom('device_requests')
    .selectAll()
    .where('user_code', '=', userCode)
    .where('state', '=', 'pending')
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirst()
  return row && fromRow(row)
}

type Decision = { state: 'allowed' | 'denied'; sessionId: number | null; now: Date }

/** Of several concurrent decisions, one succeeds. */
export async function decideDevice(
  db: Db<IdentityTables>,
  deviceHash: string,
  { state, sessionId, now }: Decision,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('device_requests')
    .set({ state, session_id: sessionId })
    .where('device_hash', '=', deviceHash)
    .where('state', '=', 'pending')
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

export async function findDevice(
  db: Db<IdentityTables>,
  deviceHash: string,
  clientId: string,
): Promise<DeviceRequest | undefined> {
  const row = await db
    .selectFrom('device_requests')
    .selectAll()
    .where('device_hash', '=', deviceHash)
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** A device that asks too soon must wait longer from now on. */
export async function updatePoll(
  db: Db<IdentityTables>,
  deviceHash: string,
  { now, slowerBy }: { now: Date; slowerBy: number },
): Promise<void> {
  await db
    .updateTable('device_requests')
    .set({
      polled_at: now.toISOString(),
      interval_seconds: sql`interval_seconds + ${slowerBy}`,
    })
    .where('device_hash', '=', deviceHash)
    .execute()
}

/** Of several concurrent requests, one gets the tokens. */
export async function spendDevice(db: Db<IdentityTables>, deviceHash: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('device_requests')
    .set({ state: 'done' })
    .where('device_hash', '=', deviceHash)
    .where('state', '=', 'allowed')
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Kept a little longer, so that a device learns that its code has expired. */
export function deleteOldDevices(db: Db<IdentityTables>, before: Date, signal: AbortSignal) {
  const old = { table: 'device_requests', key: 'device_hash', column: 'expires_at' }
  return deleteUntil(db, old, before, signal)
}
