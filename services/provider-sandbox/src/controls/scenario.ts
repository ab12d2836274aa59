import { validationFailed } from '@plinth/kit'
import { ensureConfiguredEndpoint } from '../resources/webhooks/endpoints.ts'
import type { MovableClock } from '../state/clock.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import { deleteRows, insertRows, isFaultyRow, listRows, TABLES } from './scenario.repository.ts'

/** Everything the sandbox holds, as one document, including the secrets of webhook endpoints. */
export type Scenario = { plinthSandbox: 1; tables: Record<string, object[]> }

export async function exportScenario({ db }: Sandbox): Promise<Scenario> {
  const tables: Record<string, object[]> = {}
  for (const table of TABLES) tables[table] = await listRows(db, table)
  return { plinthSandbox: 1, tables }
}

/** Replaces everything with the scenario, or changes nothing. */
export async function importScenario(sandbox: Sandbox, clock: MovableClock, { tables }: Scenario) {
  const unknown = Object.keys(tables).filter((name) => !TABLES.includes(name as never))
  if (unknown.length > 0) throw validationFailed([`tables: unknown: ${unknown.join(', ')}`])
  try {
    await change(sandbox, async ({ db }) => {
      await deleteRows(db, TABLES)
      for (const table of TABLES) await insertRows(db, table, tables[table] ?? [])
    })
  } catch (error) {
    if (isFaultyRow(error)) throw validationFailed([`tables: ${error.message}`])
    throw error
  }
  await clock.load()
}

/** The counters stay, so that no id is given out twice. */
const FORGOTTEN = TABLES.filter((table) => table !== 'counters')

/** Restores the state of a first start: only the configured endpoint, and the machine's time. */
export async function resetSandbox(sandbox: Sandbox, clock: MovableClock): Promise<void> {
  await change(sandbox, async (inside) => {
    await deleteRows(inside.db, FORGOTTEN)
    await ensureConfiguredEndpoint(inside)
  })
  await clock.load()
}
