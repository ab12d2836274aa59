import { type Command, CommandError, EXIT } from '../../command.ts'
import { openService } from '../access/keys.ts'

export const trigger: Command = {
  name: 'trigger',
  summary: 'publishes a sample event, to test a receiver; not in production',
  operands: ['<type>'],
  options: {
    service: {
      type: 'string',
      value: 'NAME',
      help: 'the service; by default derived from the type',
    },
  },
  run: async (given) => {
    const [type = ''] = given.operands
    const service = given.text('service') ?? serviceOfType(type)
    if (given.env.NODE_ENV === 'production')
      throw new CommandError(
        EXIT.failed,
        'A sample event would look like a real one in production.',
      )
    // The key edition need not have a database to open.
    const opened = service === 'storage-key' ? undefined : await openService(service, given.env)
    if (!opened?.publishSample)
      throw new CommandError(EXIT.usage, `${service} publishes no events.`)
    const id = await opened.publishSample(type)
    await opened.close()
    return { text: id, json: { id, type, service } }
  },
}

const BY_TOPIC: Record<string, string> = {
  payment: 'payments',
  refund: 'payments',
  file: 'storage-full',
  link: 'storage-full',
}

/** Two services publish account events: identity is the default. */
function serviceOfType(type: string): string {
  return BY_TOPIC[type.split('.')[0] as string] ?? 'identity'
}
