import { type Command, CommandError, EXIT } from '../../command.ts'
import { openService } from '../access/keys.ts'

export const trigger: Command = {
  name: 'trigger',
  summary: 'tells a sample event of a type, to try a receiver with; not in production',
  operands: ['<type>'],
  options: {
    service: { type: 'string', value: 'NAME', help: 'the service that has the type, by its name' },
  },
  run: async (given) => {
    const [type = ''] = given.operands
    const service = given.text('service') ?? serviceOfType(type)
    if (given.env.NODE_ENV === 'production')
      throw new CommandError(EXIT.notSo, 'A sample event would look like a real one in production.')
    const { publishSample, close } = await openService(service, given.env)
    if (!publishSample) throw new CommandError(EXIT.usage, `${service} tells no events.`)
    const id = await publishSample(type)
    await close()
    return { text: id, json: { id, type, service } }
  },
}

const BY_TOPIC: Record<string, string> = {
  payment: 'payments',
  refund: 'payments',
  file: 'storage-full',
  link: 'storage-full',
}

/** Accounts are told of by two services: identity is meant. */
function serviceOfType(type: string): string {
  return BY_TOPIC[type.split('.')[0] as string] ?? 'identity'
}
