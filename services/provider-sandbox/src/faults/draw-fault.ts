import type { Sandbox } from '../sandbox.ts'
import { seededFraction } from '../state/identifiers.ts'
import { nextNumber } from '../state/state.repository.ts'
import type { Fault } from './fault.ts'
import { listFaults, spendFault } from './faults.repository.ts'

/** The first fault that strikes this call, if any does. */
export async function drawFault(sandbox: Sandbox, route: string): Promise<Fault | undefined> {
  const [method = ''] = route.split(' ')
  for (const fault of await listFaults(sandbox.db, [route, `${method} *`, '*']))
    if ((await strikes(sandbox, fault)) && (await spendFault(sandbox.db, fault))) return fault
  return undefined
}

async function strikes(sandbox: Sandbox, { probability }: Fault): Promise<boolean> {
  if (probability >= 1) return true
  const draw = await nextNumber(sandbox.db, 'fault-draws')
  return seededFraction(sandbox.config.seed, `fault:${draw}`) < probability
}
