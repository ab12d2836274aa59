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

/** As in sysexits.h where that has a code. */
const REFUSED = 1

const USAGE_ERROR = 64

const OPERATOR = 'command line'

const ORIGIN: Origin = { address: OPERATOR, userAgent: null, requestId: null }

const BY = { actor: OPERATOR, origin: ORIGIN }

/** What an operator does at the machine itself. Prints what came of it; returns the exit code. */
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
  if (command === 'create') return createUser(accounts, { username, email: rest.join() }, admin)
  const user = await requireNamed(accounts, username)
  if (command === 'reset-password') return resetTo(accounts, user)
  if (command === 'roles') return changeRoles(accounts, user, rest)
  await changeUser(accounts, user.id, { enabled: command === 'enable' }, BY)
  return `${user.username} is ${command}d.`
}

/** Names and password obey the rules of a registration over HTTP, told in the same words. */
async function createUser(
  accounts: Accounts,
  name: { username: string; email: string },
  admin: boolean,
): Promise<string> {
  const registration = { ...name, password: madePassword(accounts) }
  const faults = faultsOf(registrationBody(accounts.settings.passwordMinLength), registration)
  if (faults.length > 0) throw new UsageError(faults.join('\n'))
  const roles = admin ? [ADMIN_ROLE, USER_ROLE] : [USER_ROLE]
  const user = await registerUser(accounts, registration, ORIGIN, { actor: OPERATOR, roles })
  return `Created ${user.username} (${roles.join(', ')}). First password: ${registration.password}`
}

/** 256 random bits, and more where the settings ask for more characters than those have. */
function madePassword({ settings }: Accounts): string {
  let password = newOpaqueToken()
  while (password.length < settings.passwordMinLength) password += newOpaqueToken()
  return password
}

/** The rule of `PATCH /api/users/{id}`, told in the same words. */
async function changeRoles(accounts: Accounts, user: User, roles: string[]): Promise<string> {
  const faults = faultsOf(UserChangeBody, { roles })
  if (faults.length > 0) throw new UsageError(faults.join('\n'))
  await changeUser(accounts, user.id, { roles }, BY)
  return `${user.username} has ${roles.join(', ')}.`
}

async function resetTo(accounts: Accounts, user: User): Promise<string> {
  const password = madePassword(accounts)
  await resetPassword(accounts, user, password, BY)
  return `New password of ${user.username}: ${password}`
}

async function requireNamed(accounts: Accounts, username: string): Promise<User> {
  const user = await findUserByUsername(accounts.db, normalName(username))
  if (!user) throw new UsageError(`There is no user "${username}".`)
  return user
}

/** Words that cannot be carried out; the message says which ones can. */
class UsageError extends Error {}

const USER_USAGE = `Usage:
  user create <username> <email> [--admin]   prints a first password
  user enable <username>
  user disable <username>                    ends all sessions at once
  user roles <username> <role> [<role>]      ROLE_USER, ROLE_ADMIN: these and no others
  user reset-password <username>             prints a new password, ends all sessions`

type Operands = { least: number; most: number }

const ONE: Operands = { least: 1, most: 1 }

const OPERANDS: Record<string, Operands> = {
  create: { least: 2, most: 2 },
  enable: ONE,
  disable: ONE,
  roles: { least: 2, most: Number.POSITIVE_INFINITY },
  'reset-password': ONE,
}

/** A word that is not understood is never passed over: it may be a misspelt `--admin`. */
function readWords(words: string[]) {
  const flags = words.filter((word) => word.startsWith('--'))
  const [command = '', ...operands] = words.filter((word) => !flags.includes(word))
  const { least, most } = OPERANDS[command] ?? { least: 1, most: 0 }
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
