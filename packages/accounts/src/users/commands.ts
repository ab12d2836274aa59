import { faultsOf, newOpaqueToken, Problem } from '@plinth/kit'
import type { Accounts } from '../accounts.ts'
import type { Origin } from '../audit/audit.ts'
import { normalName } from '../database/names.ts'
import {
  ADMIN_ROLE,
  findUserByUsername,
  USER_ROLE,
  type User,
} from '../database/users.repository.ts'
import { changeUser } from './changes.ts'
import { registrationBody, UserChangeBody } from './schemas.ts'
import { registerUser, resetPassword } from './users.ts'

/** As in sysexits.h, which has no code for a refusal. */
const REFUSED = 1
const USAGE_ERROR = 64
export const USER_USAGE = `Usage:
  user create <username> <email> [--admin]   prints a first password
  user enable <username>
  user disable <username>                    ends all sessions at once
  user roles <username> <role> [<role>]      ROLE_USER, ROLE_ADMIN: these and no others
  user reset-password <username>             prints a new password, ends all sessions`

const OPERANDS = {
  create: { least: 2, most: 2 },
  enable: { least: 1, most: 1 },
  disable: { least: 1, most: 1 },
  roles: { least: 2, most: Number.POSITIVE_INFINITY },
  'reset-password': { least: 1, most: 1 },
}

type Command = keyof typeof OPERANDS

const OPERATOR = 'command line'
const ORIGIN: Origin = { address: OPERATOR, userAgent: null, requestId: null }
const BY = { actor: OPERATOR, origin: ORIGIN }

/** Wrong arguments; the message says what is expected. */
class UsageError extends Error {}

/** For operators with access to the machine. Prints the result and returns the exit code. */
export async function runUserCommand(accounts: Accounts, words: string[]): Promise<number> {
  try {
    console.log(await perform(accounts, words))
    return 0
  } catch (error) {
    if (!(error instanceof Problem || error instanceof UsageError)) throw error
    console.error(error.message)
    return error instanceof Problem ? REFUSED : USAGE_ERROR
  }
}

async function perform(accounts: Accounts, words: string[]): Promise<string> {
  const { admin, command, username, rest } = readWords(words)
  switch (command) {
    case 'create':
      return createUser(accounts, { username, email: rest.join() }, admin)
    case 'enable':
    case 'disable':
      return setEnabled(accounts, await requireNamed(accounts, username), command)
    case 'roles':
      return setRoles(accounts, await requireNamed(accounts, username), rest)
    case 'reset-password':
      return resetToNew(accounts, await requireNamed(accounts, username))
  }
}

/** An unknown word is never ignored: it may be a misspelt `--admin`. */
function readWords(words: string[]) {
  const flags = words.filter((word) => word.startsWith('--'))
  const [command = '', ...operands] = words.filter((word) => !flags.includes(word))
  if (!isCommand(command)) throw new UsageError(USER_USAGE)
  const { least, most } = OPERANDS[command]
  const allowed = command === 'create' ? ['--admin'] : []
  const understood =
    flags.every((flag) => allowed.includes(flag)) &&
    operands.every((word) => word !== '') &&
    operands.length >= least &&
    operands.length <= most
  if (!understood) throw new UsageError(USER_USAGE)
  const [username = '', ...rest] = operands
  return { admin: flags.length > 0, command, username, rest }
}

function isCommand(word: string): word is Command {
  return Object.hasOwn(OPERANDS, word)
}

/** Names and password follow the rules of a registration over HTTP, with the same messages. */
async function createUser(
  accounts: Accounts,
  name: { username: string; email: string },
  admin: boolean,
): Promise<string> {
  const registration = { ...name, password: newPassword(accounts) }
  const faults = faultsOf(registrationBody(accounts.settings.passwordMinLength), registration)
  if (faults.length > 0) throw new UsageError(faults.join('\n'))
  const roles = admin ? [ADMIN_ROLE, USER_ROLE] : [USER_ROLE]
  const user = await registerUser(accounts, registration, ORIGIN, { actor: OPERATOR, roles })
  return `Created ${user.username} (${roles.join(', ')}). First password: ${registration.password}`
}

/** 256 random bits, repeated until the password has the required length. */
function newPassword({ settings }: Accounts): string {
  let password = newOpaqueToken()
  while (password.length < settings.passwordMinLength) password += newOpaqueToken()
  return password
}

async function setEnabled(
  accounts: Accounts,
  user: User,
  command: 'enable' | 'disable',
): Promise<string> {
  await changeUser(accounts, user.id, { enabled: command === 'enable' }, BY)
  return `${user.username} is ${command}d.`
}

/** The rule of `PATCH /api/users/{id}`, with the same messages. */
async function setRoles(accounts: Accounts, user: User, roles: string[]): Promise<string> {
  const faults = faultsOf(UserChangeBody, { roles })
  if (faults.length > 0) throw new UsageError(faults.join('\n'))
  await changeUser(accounts, user.id, { roles }, BY)
  return `${user.username} has ${roles.join(', ')}.`
}

async function resetToNew(accounts: Accounts, user: User): Promise<string> {
  const password = newPassword(accounts)
  await resetPassword(accounts, user, password, BY)
  return `New password of ${user.username}: ${password}`
}

async function requireNamed(accounts: Accounts, username: string): Promise<User> {
  const user = await findUserByUsername(accounts.db, normalName(username))
  if (!user) throw new UsageError(`There is no user "${username}".`)
  return user
}
