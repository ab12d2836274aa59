import { validationFailed } from '@plinth/kit/problems'
import { ensureConfiguredEndpoint } from '../resources/webhooks/endpoints.ts'
import { CLOCK_OFFSET, type MovableClock } from '../state/clock.ts'
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
  const unreadable = unreadableTexts(tables)
  if (unreadable.length > 0) throw validationFailed(unreadable)
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

/** Columns with JSON, which the database accepts as any text. */
const JSON_COLUMNS: Record<string, string[]> = {
  objects: ['body', 'hidden'],
  values: ['value'],
  delivery_attempts: ['request_headers', 'response_headers'],
  faults: ['detail'],
}

function unreadableTexts(tables: Scenario['tables']): string[] {
  const isReadable = (row: object, column: string) => {
    const { [column]: text, name } = row as Record<string, unknown>
    // The database refuses it.
    if (typeof text !== 'string') return true
    const value = jsonOf(text)
    return name === CLOCK_OFFSET ? Number.isFinite(value) : value !== undefined
  }
  return Object.entries(JSON_COLUMNS).flatMap(([table, columns]) =>
    columns
      .filter((column) => tables[table]?.some((row) => !isReadable(row, column)))
      .map((column) => `tables.${table}: ${column} cannot be read`),
  )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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
