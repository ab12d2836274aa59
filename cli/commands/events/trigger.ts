import { services } from '../../../launcher/services.ts'
import { type Command, CommandError, EXIT, serviceOf } from '../../command.ts'
import { openEntry } from '../access/desk.ts'

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
    const entry = serviceOf(given.text('service') ?? publisherOf(type))
    if (given.env.NODE_ENV === 'production')
      throw new CommandError(
        EXIT.failed,
        'A sample event would look like a real one in production.',
      )
    const opened = entry.topics && (await openEntry(entry, given.env))
    if (!opened?.publishSample)
      throw new CommandError(EXIT.usage, `${entry.name} publishes no events.`)
    const id = await opened.publishSample(type)
    await opened.close()
    return { text: id, json: { id, type, service: entry.name } }
  },
}

/** Several services publish account events: the first is the default. */
function publisherOf(type: string): string {
  const [topic = ''] = type.split('.')
  const publishers = services.filter(({ topics }) => topics)
  const [byDefault] = publishers
  return (publishers.find(({ topics }) => topics?.includes(topic)) ?? byDefault)?.name ?? ''
}
