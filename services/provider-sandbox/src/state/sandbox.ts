import { inTransaction } from '@plinth/kit/database'
import type { Logger } from '@plinth/kit/logging'
import type { Clock } from '@plinth/kit/runtime'
import type { SandboxConfig } from '../config.ts'
import type { Event } from './objects/kinds.ts'
import type { SandboxDb } from './tables.ts'

/** What the sandbox runs on. */
export type Surroundings = {
  db: SandboxDb
  /** The sandbox's own time, which can be moved. */
  clock: Clock
  /** The machine's time. It signs deliveries, because receivers' clocks do not move. */
  trueClock: Clock
  config: SandboxConfig
  log: Logger
  /** The address at which the sandbox is reached. */
  publicUrl: () => string
}

/** What every rule of the sandbox works with. */
export type Sandbox = Surroundings & {
  /** To be called after a commit that may have made a delivery due. */
  wake: () => void
  /** The API call that is being answered, for the events it causes. */
  request?: Event['request']
}

/** One change of state with the events it causes: all of it or nothing. */
export async function change<R>(sandbox: Sandbox, work: (sandbox: Sandbox) => Promise<R>) {
  const result = await inTransaction(sandbox.db, (db) => work({ ...sandbox, db }))
  sandbox.wake()
  return result
}

/** Unix seconds, the API's unit of time. */
export function secondsOf(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}
