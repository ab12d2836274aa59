import { services } from '../../../launcher/services.ts'
import { type Command, serviceOf } from '../../command.ts'

export const start: Command = {
  name: 'start',
  summary: `runs all services, or those named: ${services.map(({ name }) => name).join(', ')}`,
  operands: ['[service…]'],
  run: async ({ operands, env }) => {
    const entries = operands.map(serviceOf)
    const { startServices } = await import('../../../launcher/start.ts')
    await startServices(entries, env)
    return undefined
  },
}
