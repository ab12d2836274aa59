import type { ClientDesk } from '../../../launcher/services.ts'
import {
  type Command,
  CommandError,
  EXIT,
  type Given,
  type Option,
  type Outcome,
} from '../../command.ts'
import { atDesk, namesOf } from './desk.ts'

type Work = (clients: ClientDesk, given: Given) => Promise<Outcome>

export const clientCommands: Command[] = [
  clientCommand('list', 'lists the clients that users sign in to', [], {}, async (clients) => {
    const all = await clients.list()
    return { text: all.map(lineOf).join('\n') || 'No clients.', json: all }
  }),
  clientCommand(
    'create',
    'registers a client and shows its secret once',
    ['<name>'],
    {
      'redirect-uri': {
        type: 'string',
        multiple: true,
        value: 'ADDRESS',
        help: 'where users come back to; once or more',
      },
      public: { type: 'boolean', help: 'has no secret: a program or a page on a user’s machine' },
      'first-party': { type: 'boolean', help: 'one of your own: users are not asked for consent' },
    },
    async (clients, { operands: [name = ''], texts, flag }) => {
      const { clientSecret, ...client } = await clients.create({
        name,
        redirectUris: texts('redirect-uri'),
        authMethod: flag('public') ? 'none' : 'client_secret',
        firstParty: flag('first-party'),
      })
      const note = `Client ${client.clientId}, ${client.name}.`
      if (clientSecret === null) return { text: client.clientId, note, json: client }
      const once = `${note} Its secret will not be shown again.`
      return { text: clientSecret, note: once, json: { ...client, clientSecret } }
    },
  ),
  clientCommand(
    'rotate',
    'creates a new secret and shows it; the old one ends after the overlap',
    ['<client-id>'],
    { overlap: { type: 'string', value: 'SECONDS', help: 'none by default, at most a week' } },
    async (clients, { operands: [id = ''], text }) => {
      const { clientSecret } = await clients.rotate(id, secondsOf(text('overlap')))
      return { text: clientSecret, note: 'It will not be shown again.', json: { clientSecret } }
    },
  ),
  clientCommand(
    'disable',
    'disables a client and ends its sessions at once',
    ['<client-id>'],
    {},
    async (clients, { operands: [id = ''] }) => {
      await clients.disable(id)
      return { text: `Client ${id} is disabled.`, json: { disabled: id } }
    },
  ),
  clientCommand(
    'delete',
    'deletes a client, with its sessions and what users allowed it',
    ['<client-id>'],
    {},
    async (clients, { operands: [id = ''] }) => {
      await clients.remove(id)
      return { text: `Client ${id} is deleted.`, json: { deleted: id } }
    },
  ),
]

/** Without `--service`, the only service that has clients. */
function clientCommand(
  verb: string,
  summary: string,
  operands: string[],
  options: Record<string, Option>,
  work: Work,
): Command {
  const run = async (given: Given) =>
    atDesk('clients', given.text('service') ?? namesOf('clients'), given.env, (clients) =>
      work(clients, given),
    )
  const service: Option = { type: 'string', value: 'NAME', help: namesOf('clients') }
  return { name: `clients ${verb}`, summary, operands, options: { ...options, service }, run }
}

function lineOf(client: Awaited<ReturnType<ClientDesk['list']>>[number]): string {
  const { clientId, name, redirectUris, firstParty, enabled } = client
  const kind = firstParty ? 'first-party' : 'third-party'
  const state = enabled ? 'enabled' : 'disabled'
  return [clientId, name, kind, state, redirectUris.join(' ')].join('\t')
}

function secondsOf(text: string | undefined): number {
  if (text === undefined) return 0
  if (/^\d{1,7}$/.test(text)) return Number(text)
  throw new CommandError(EXIT.usage, `--overlap ${text}: expected a number.`)
}
