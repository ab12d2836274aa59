import type { Env } from '@plinth/kit/runtime'
import { withSuiteAddress } from '../../../launcher/config.ts'
import { type OperatorDesk, type ServiceEntry, services } from '../../../launcher/services.ts'
import { CommandError, EXIT } from '../../command.ts'

type Work = ServiceEntry['operated'][number]

/** The services with which operators can do this, as words: `identity or storage-full`. */
export function namesOf(work: Work): string {
  const names = services.filter(({ operated }) => operated.includes(work)).map(({ name }) => name)
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(names)
}

/** Opens the data of a service, whether or not the service is running. */
export async function openDesk(
  work: Work,
  name: string | undefined,
  env: Env,
): Promise<OperatorDesk> {
  const entry = services.find((one) => one.name === name && one.operated.includes(work))
  const desk = entry && (await openEntry(entry, env))
  if (desk) return desk
  throw new CommandError(EXIT.usage, `Choose a service: --service ${namesOf(work)}.`)
}

/** Notices to users contain links to the public address. */
export async function openEntry(entry: ServiceEntry, env: Env): Promise<OperatorDesk | undefined> {
  const { openForOperator } = await entry.prepare(withSuiteAddress(env))
  return openForOperator?.()
}
