import { deleteKeys } from '../api/idempotency.repository.ts'
import type { Kind } from '../objects/object-kinds.ts'
import { listObjects } from '../objects/objects.repository.ts'
import type { Sandbox } from '../sandbox.ts'
import { listRequests } from '../state/requests.repository.ts'
import { DEFAULT_SWITCHES, readSwitches, type Switches, setSwitches } from '../state/switches.ts'

const MOST_SHOWN = 200

export const listRecent = (sandbox: Sandbox, kind: Kind) =>
  listObjects(sandbox.db, kind, {}, { limit: MOST_SHOWN })

export async function listRecentRequests(sandbox: Sandbox) {
  const requests = await listRequests(sandbox.db, MOST_SHOWN)
  return requests.map(({ id, at, method, path, status, fault, ...row }) => ({
    id,
    at,
    method,
    path,
    idempotencyKey: row.idempotency_key,
    status,
    replayed: row.replayed === 1,
    fault,
  }))
}

/** As if a day had passed for the idempotency keys alone. */
export const forgetIdempotencyKeys = (sandbox: Sandbox) => deleteKeys(sandbox.db)

export const readAllSwitches = (sandbox: Sandbox) => readSwitches(sandbox.db)

/** Deliveries that were held back by a switch may be due now. */
export async function turnSwitches(sandbox: Sandbox, given: Partial<Switches>) {
  const switches = await setSwitches(sandbox.db, given)
  sandbox.wake()
  return switches
}

export const resetSwitches = (sandbox: Sandbox) => turnSwitches(sandbox, DEFAULT_SWITCHES)
