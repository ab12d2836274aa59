import type { Selectable } from 'kysely'
import type { SandboxDb, SandboxTables } from '../../state/tables.ts'
import type { Fault, FaultKind } from './fault.ts'

export async function insertFault(db: SandboxDb, fault: Omit<Fault, 'id'>): Promise<Fault> {
  const { route, kind, remaining, probability, delayMs, retryAfterSeconds } = fault
  const detail = JSON.stringify({ delayMs, retryAfterSeconds })
  const row = await db
    .insertInto('faults')
    .values({ route, kind, remaining, probability, detail })
    .returningAll()
    .executeTakeFirstOrThrow()
  return faultOf(row)
}

export async function listFaults(db: SandboxDb, routes?: string[]): Promise<Fault[]> {
  let query = db.selectFrom('faults').selectAll()
  if (routes) query = query.where('route', 'in', routes)
  return (await query.orderBy('id').execute()).map(faultOf)
}

/** Takes one strike from a fault; false when none was left. */
export async function spendFault(db: SandboxDb, { id, remaining }: Fault): Promise<boolean> {
  if (remaining === null) return true
  const row = await db
    .updateTable('faults')
    .set((eb) => ({ remaining: eb('remaining', '-', 1) }))
    .where('id', '=', id)
    .where('remaining', '>', 0)
    .returning('remaining')
    .executeTakeFirst()
  if (row?.remaining === 0) await deleteFault(db, id)
  return row !== undefined
}

export async function deleteFault(db: SandboxDb, id: number): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('faults').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

export async function deleteFaults(db: SandboxDb): Promise<void> {
  await db.deleteFrom('faults').execute()
}

function faultOf({ detail, ...row }: Selectable<SandboxTables['faults']>): Fault {
  return { ...row, kind: row.kind as FaultKind, ...JSON.parse(detail) }
}
