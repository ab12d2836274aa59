import { type Clock, inTransaction, type Logger } from '@plinth/kit'
import type { SandboxConfig } from '../config.ts'
import type { SandboxDb } from './tables.ts'

/** What every rule of the sandbox works with. */
export type Sandbox = {
  db: SandboxDb
  /** The sandbox's own time, which can be moved. */
  clock: Clock
  /** The time of the machine, by which deliveries are signed: receivers' clocks do not move. */
  trueClock: Clock
  config: SandboxConfig
  log: Logger
  /** Where people and programs reach the sandbox. */
  publicUrl: () => string
  /** Called when something was committed that may be due for delivery. */
  wake: () => void
  /** The API call that is being answered, for the events it causes. */
  request?: { id: string; idempotencyKey: string | null }
}

/** One change of state: all of it happens, with the events it causes, or nothing. */
export async function change<R>(
  sandbox: Sandbox,
  work: (sandbox: Sandbox) => Promise<R>,
): Promise<R> {
  const result = await inTransaction(sandbox.db, (db) => work({ ...sandbox, db }))
  sandbox.wake()
  return result
}

/** Unix seconds, the API's unit of time. */
export function secondsOf(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}
