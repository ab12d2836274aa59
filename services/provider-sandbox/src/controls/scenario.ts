import { validationFailed } from '@plinth/kit'
import { ensureEndpointOfSettings } from '../resources/webhooks/endpoints.ts'
import type { MovableClock } from '../state/clock.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import { deleteRows, insertRows, listRows, TABLES } from './scenario.repository.ts'

/** Everything the sandbox holds, as one document. Secrets of webhook endpoints are in it. */
export type Scenario = { plinthSandbox: 1; tables: Record<string, object[]> }

export async function exportScenario(sandbox: Sandbox): Promise<Scenario> {
  const tables: Record<string, object[]> = {}
  for (const table of TABLES) tables[table] = await listRows(sandbox.db, table)
  return { plinthSandbox: 1, tables }
}

/** Replaces everything by what a scenario holds, or changes nothing. */
export async function importScenario(
  sandbox: Sandbox,
  clock: MovableClock,
  scenario: Scenario,
): Promise<void> {
  if (scenario?.plinthSandbox !== 1 || typeof scenario.tables !== 'object')
    throw validationFailed(['scenario: must be a file that was saved here'])
  const unknown = Object.keys(scenario.tables).filter((name) => !TABLES.includes(name as never))
  if (unknown.length > 0) throw validationFailed([`tables: ${unknown.join(', ')} not known`])
  await change(sandbox, async ({ db }) => {
    await deleteRows(db, TABLES)
    for (const table of TABLES) await insertRows(db, table, scenario.tables[table] ?? [])
  }).catch((error) => {
    throw validationFailed([`tables: ${error instanceof Error ? error.message : 'not readable'}`])
  })
  await clock.load()
}

/** The counters go on: whoever was told an id, and keeps it, must not meet it on something else. */
const FORGOTTEN = TABLES.filter((table) => table !== 'counters')

/** As after the first start: nothing but the endpoint of the settings, and the true time. */
export async function resetSandbox(sandbox: Sandbox, clock: MovableClock): Promise<void> {
  await change(sandbox, async (inside) => {
    await deleteRows(inside.db, FORGOTTEN)
    await ensureEndpointOfSettings(inside)
  })
  await clock.load()
}
