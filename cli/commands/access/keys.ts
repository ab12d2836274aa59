import { writeFile } from 'node:fs/promises'
import type { ServiceKeys } from '@plinth/service-keys'
import {
  type Command,
  CommandError,
  EXIT,
  type Given,
  type Option,
  type Outcome,
  serviceOf,
} from '../../command.ts'
import { atDesk, namesOf } from './desk.ts'

const OPERATOR = 'command line'
export const BY = { actor: OPERATOR, origin: { address: OPERATOR, requestId: null } }

type Code = typeof import('@plinth/service-keys')
type Work = (keys: ServiceKeys, code: Code, given: Given) => Promise<Outcome>
type Issued = Awaited<ReturnType<Code['createServiceKey']>>

export const keyCommands: Command[] = [
  keyCommand(
    'list',
    'lists the service keys, without their secrets',
    [],
    {},
    async (keys, code) => {
      const all = (await code.allServiceKeys(keys)).map(shownOf)
      return { text: all.map(lineOf).join('\n') || 'No keys.', json: all }
    },
  ),
  keyCommand(
    'create',
    'creates a service key and shows it once',
    ['<name>'],
    {
      scope: { type: 'string', multiple: true, value: 'SCOPE', help: 'what it may do' },
      expires: { type: 'string', value: '30d', help: 'its lifetime; 365d by default' },
    },
    async (keys, code, { operands: [name = ''], texts, text }) => {
      if (texts('scope').length === 0)
        throw new CommandError(
          EXIT.usage,
          `Choose what it may do, with --scope once or more: ${keys.scopes.join(', ')}.`,
        )
      const request = { name, scopes: texts('scope'), lifetimeDays: daysOf(text('expires')) }
      // The same rules and messages as `POST /api/service-keys`.
      code.requireKeyRequest(keys.scopes, request)
      return issued(await code.createServiceKey(keys, request, BY))
    },
  ),
  keyCommand(
    'rotate',
    'creates a successor and shows it; the old key expires after the overlap',
    ['<id>'],
    { overlap: { type: 'string', value: 'SECONDS', help: 'a day by default, at most a week' } },
    async (keys, code, { operands: [id = ''], text }) => {
      const overlap = text('overlap')
      const overlapSeconds = overlap === undefined ? undefined : numberOf(overlap, '--overlap')
      return issued(
        await code.rotateServiceKey(keys, numberOf(id, 'id'), { overlapSeconds, by: BY }),
      )
    },
  ),
  keyCommand(
    'revoke',
    'revokes a key immediately',
    ['<id>'],
    {},
    async (keys, code, { operands: [id = ''] }) => {
      await code.revokeServiceKey(keys, numberOf(id, 'id'), BY)
      return { text: `Key ${id} is revoked.`, json: { revoked: Number(id) } }
    },
  ),
  {
    name: 'keys export',
    summary:
      'writes the master keys of all services, or those named, to a file: backups do not contain them',
    operands: ['<file>', '[service…]'],
    run: exportMasterKeys,
  },
]

/** Written as settings, so that a fresh machine can restore a backup with this file alone. */
async function exportMasterKeys(given: Given): Promise<Outcome> {
  const [file = '', ...names] = given.operands
  const { suiteData } = await import('../../../launcher/backups/suite-data.ts')
  const services = await suiteData(given.env, names.map(serviceOf))
  const keys = services.flatMap((service) => Object.entries(service.keys))
  if (keys.length === 0)
    throw new CommandError(
      EXIT.failed,
      `There is nothing to export: no master key belongs to ${services.map(({ name }) => name).join(', ')}.`,
    )
  const lines = keys.map(([setting, key]) => `${setting}=${key.toString('base64')}\n`)
  try {
    await writeFile(file, lines.join(''), { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    throw new CommandError(EXIT.cannotCreate, `${file}: ${(error as Error).message}`)
  }
  const settings = keys.map(([setting]) => setting)
  const text = `Wrote ${settings.join(', ')} to ${file}. Keep it apart from the backups: together they reveal all data.`
  return { text, json: { file, settings } }
}

function keyCommand(
  verb: string,
  summary: string,
  operands: string[],
  options: Record<string, Option>,
  work: Work,
): Command {
  const run = async (given: Given) =>
    atDesk('keys', given.text('service'), given.env, async (keys) =>
      work(keys, await import('@plinth/service-keys'), given),
    )
  const service: Option = {
    type: 'string',
    value: 'NAME',
    help: namesOf('keys'),
  }
  return { name: `keys ${verb}`, summary, operands, options: { ...options, service }, run }
}

function issued({ key, secret }: Issued): Outcome {
  const note = `Key ${key.id}, ${key.name}: ${key.scopes.join(', ')}. It will not be shown again.`
  return { text: secret, note, json: { ...shownOf(key), secret } }
}

function shownOf({ id, start, name, scopes, createdAt, expiresAt, revokedAt }: Issued['key']) {
  return { id, start, name, scopes, createdAt, expiresAt, revokedAt }
}

function lineOf(key: ReturnType<typeof shownOf>): string {
  const state = key.revokedAt ? 'revoked' : `until ${key.expiresAt.toISOString()}`
  return [key.id, `${key.start}…`, key.name, key.scopes.join(','), state].join('\t')
}

function daysOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const days = /^(\d{1,4})d$/.exec(text)?.[1]
  if (days !== undefined) return Number(days)
  throw new CommandError(EXIT.usage, `--expires ${text}: expected a number of days, such as 30d.`)
}

function numberOf(text: string, name: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new CommandError(EXIT.usage, `${name} ${text}: expected a number.`)
}
