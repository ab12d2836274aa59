import { notFound } from '@plinth/kit'
import type { Fault, FaultKind } from '../faults/fault.ts'
import { deleteFault, deleteFaults, insertFault, listFaults } from '../faults/faults.repository.ts'
import type { Sandbox } from '../sandbox.ts'

type GivenFault = {
  kind: FaultKind
  route?: string
  times?: number | null
  probability?: number
  delayMs?: number | null
  retryAfterSeconds?: number
}

/** One strike on any call, unless told otherwise; an outage lasts until it is removed. */
export async function addFault(sandbox: Sandbox, given: GivenFault): Promise<Fault> {
  const { times = given.kind === 'outage' ? null : 1 } = given
  return insertFault(sandbox.db, {
    route: given.route ?? '*',
    kind: given.kind,
    remaining: times,
    probability: given.probability ?? 1,
    delayMs: given.delayMs ?? null,
    retryAfterSeconds: given.retryAfterSeconds ?? 1,
  })
}

export const readFaults = (sandbox: Sandbox): Promise<Fault[]> => listFaults(sandbox.db)

export const removeFaults = (sandbox: Sandbox): Promise<void> => deleteFaults(sandbox.db)

export async function removeFault(sandbox: Sandbox, id: number): Promise<void> {
  if (!(await deleteFault(sandbox.db, id))) throw notFound()
}
