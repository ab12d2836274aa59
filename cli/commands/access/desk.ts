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

/** Works on the data of a service, whether or not the service is running. */
export async function atDesk<W extends Work, Result>(
  work: W,
  name: string | undefined,
  env: Env,
  run: (part: NonNullable<OperatorDesk[W]>) => Promise<Result>,
): Promise<Result> {
  const entry = services.find((one) => one.name === name && one.operated.includes(work))
  const desk = entry && (await openEntry(entry, env))
  const part = desk?.[work]
  if (!part) throw new CommandError(EXIT.usage, `Choose a service: --service ${namesOf(work)}.`)
  const result = await run(part)
  // After a failure the process ends without closing, so that closing cannot hide the failure.
  await desk.close()
  return result
}

/** Notices to users contain links to the public address. */
export async function openEntry(entry: ServiceEntry, env: Env): Promise<OperatorDesk | undefined> {
  const { openForOperator } = await entry.prepare(withSuiteAddress(env))
  return openForOperator?.()
}
