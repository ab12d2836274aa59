import { readFileSync } from 'node:fs'
import type { Operator } from '@plinth/accounts'
import { identity } from '../../../launcher/services.ts'
import {
  type Command,
  CommandError,
  cannotRead,
  EXIT,
  type Given,
  type Outcome,
  tableOf,
} from '../../command.ts'
import { atDesk, namesOf } from './desk.ts'

const BY_DEFAULT = identity.name
const SERVICE = {
  service: {
    type: 'string',
    value: 'NAME',
    help: `the service with the accounts: ${namesOf('users')}; ${BY_DEFAULT} by default`,
  },
} as const
const PASSWORD = {
  'password-file': {
    type: 'string',
    value: 'FILE',
    help: 'reads the password from a file, or from stdin if "-"; otherwise one is generated and shown',
  },
} as const
const ALL = { all: { type: 'boolean', help: 'all of them' } } as const

type Work = (users: Operator, given: Given) => Promise<Outcome>

export const userCommands: Command[] = [
  user('list', 'lists the accounts', [], {}, async (users) => listed(await users.list())),
  user(
    'create',
    'creates an account',
    ['<username>', '<email>'],
    { admin: { type: 'boolean', help: 'as an administrator' }, ...PASSWORD },
    async (users, { operands: [username = '', email = ''], flag, text }) => {
      const given = passwordOf(text('password-file'))
      const made = await users.create({ username, email, admin: flag('admin'), password: given })
      const { password, ...account } = made
      const about = `Created ${made.username} (${made.roles.join(', ')}).`
      return given === undefined
        ? { text: password, note: `${about} This is the first password.`, json: made }
        : { text: about, json: account }
    },
  ),
  user('enable', 'lets a user sign in again', ['<username>'], {}, enabling(true)),
  user('disable', 'ends all sessions and refuses new ones', ['<username>'], {}, enabling(false)),
  user(
    'roles',
    'replaces the roles of a user: ROLE_USER, ROLE_ADMIN',
    ['<username>', '<role>…'],
    {},
    async (users, { operands: [username = '', ...roles] }) => {
      const changed = await users.setRoles(username, roles)
      return { text: `${changed.username} has ${roles.join(', ')}.`, json: changed }
    },
  ),
  user(
    'reset-password',
    'sets a password, ends all sessions and removes all passkeys',
    ['<username>'],
    { 'keep-passkeys': { type: 'boolean', help: 'keeps the passkeys' }, ...PASSWORD },
    async (users, { operands: [name = ''], flag, text }) => {
      const given = passwordOf(text('password-file'))
      const keepPasskeys = flag('keep-passkeys')
      const done = await users.resetPassword(name, { password: given, keepPasskeys })
      const { username, password } = done
      return given === undefined
        ? { text: password, note: `This is the new password of ${username}.`, json: done }
        : { text: `Set the password of ${username}.`, json: { username } }
    },
  ),
  user(
    'sessions',
    'lists the active sessions',
    ['<username>'],
    {},
    async (users, { operands: [username = ''] }) => listed(await users.sessions(username)),
  ),
  user(
    'end-session',
    'ends a session, or all with --all',
    ['<username>', '[id]'],
    ALL,
    async (users, given) => {
      const choice = idOrAll(given)
      await users.endSessions(given.operands[0] ?? '', choice)
      const text = choice === 'all' ? 'Ended all sessions.' : `Ended session ${choice}.`
      return { text, json: { ended: choice } }
    },
  ),
  user(
    'passkeys',
    'lists the passkeys',
    ['<username>'],
    {},
    async (users, { operands: [username = ''] }) => listed(await users.passkeys(username)),
  ),
  user(
    'remove-passkey',
    'removes a passkey, or all with --all',
    ['<username>', '[id]'],
    ALL,
    async (users, given) => {
      const removed = await users.removePasskeys(given.operands[0] ?? '', idOrAll(given))
      return { text: `Passkeys removed: ${removed}.`, json: { removed } }
    },
  ),
  user(
    'remove-factor',
    'removes the second factor and the recovery codes immediately',
    ['<username>'],
    {},
    async (users, { operands: [name = ''] }) => {
      const removed = await users.removeFactor(name)
      return { text: `${removed.username} has no second factor any more.`, json: removed }
    },
  ),
]

function user(
  verb: string,
  summary: string,
  operands: string[],
  options: Command['options'],
  work: Work,
): Command {
  const run = async (given: Given) =>
    atDesk('users', given.text('service') ?? BY_DEFAULT, given.env, (users) => work(users, given))
  return { name: `user ${verb}`, summary, operands, options: { ...options, ...SERVICE }, run }
}

function enabling(enabled: boolean): Work {
  return async (users, { operands: [username = ''] }) => {
    const changed = await users.setEnabled(username, enabled)
    return { text: `${changed.username} is ${enabled ? 'enabled' : 'disabled'}.`, json: changed }
  }
}

/** Never an argument: those show up in the process list and in the shell history. */
function passwordOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw cannotRead(`--password-file ${file}`, error)
  }
}

/** Either an id or `--all`, so that forgetting the id does not affect everything. */
function idOrAll({ operands: [, id], flag }: Given): string | 'all' {
  if ((id === undefined) === !flag('all'))
    throw new CommandError(EXIT.usage, 'Usage: give either one id or --all.')
  return id ?? 'all'
}

function listed(rows: Record<string, unknown>[]): Outcome {
  return { text: tableOf(rows), json: rows }
}
