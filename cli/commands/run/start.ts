import cluster from 'node:cluster'
import type { Env } from '@plinth/kit/runtime'
import { services } from '../../../launcher/services.ts'
import { type Command, serviceOf } from '../../command.ts'

export const start: Command = {
  name: 'start',
  summary: `runs all services, or those named: ${services.map(({ name }) => name).join(', ')}`,
  operands: ['[service…]'],
  run: async ({ operands, env }) => {
    const entries = operands.map(serviceOf)
    await reportMisspelt(env, entries.length > 0 ? entries : services)
    const { startServices } = await import('../../../launcher/start.ts')
    await startServices(entries, env)
    return undefined
  },
}

/** Before anything starts: a setting that is missing may be there under a misspelt name. */
async function reportMisspelt(env: Env, entries: typeof services): Promise<void> {
  if (cluster.isWorker) return
  const { misspeltSettings } = await import('../doctor/known-settings.ts')
  for (const { name, meant } of await misspeltSettings(env, entries))
    console.error(
      `! ${name} is set, but no service reads it.${meant ? ` Did you mean ${meant}?` : ''}`,
    )
}
