import { faultsOf, newOpaqueToken } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { normalName } from './names.ts'
import type { Origin } from './origin.ts'
import { resetPassword } from './own-password.ts'
import { registrationBody } from './schemas.ts'
import { changeUser } from './user-changes.ts'
import { findUserByUsername } from './users.repository.ts'
import { ADMIN_ROLE, registerUser, USER_ROLE, type User } from './users.ts'

const USER_USAGE = `Usage:
  user create <username> <email> [--admin]   prints a first password
  user enable <username>
  user disable <username>                    ends all sessions at once
  user reset-password <username>             prints a new password, ends all sessions`

const OPERATOR = 'command line'
const ORIGIN: Origin = { address: OPERATOR, userAgent: null, requestId: null }
const BY = { actor: OPERATOR, origin: ORIGIN }

/** What an operator does at the machine itself. Returns what to print; throws what went wrong. */
export async function runUserCommand(accounts: Accounts, words: string[]): Promise<string> {
  const { admin, command, username, email } = readWords(words)
  if (command === 'create') return createUser(accounts, { username, email }, admin)
  const user = await requireNamed(accounts, username)
  if (command === 'reset-password') return resetTo(accounts, user)
  await changeUser(accounts, user.id, { enabled: command === 'enable' }, BY)
  return `${user.username} is ${command}d.`
}

const OPERANDS: Record<string, number> = { create: 2, enable: 1, disable: 1, 'reset-password': 1 }

function readWords(words: string[]) {
  const flags = words.filter((word) => word.startsWith('--'))
  const [command = '', username = '', email = '', ...rest] = words.filter(
    (word) => !flags.includes(word),
  )
  const given = [username, email, ...rest].filter((word) => word !== '').length
  const allowed = command === 'create' ? ['--admin'] : []
  const understood = flags.every((flag) => allowed.includes(flag)) && given === OPERANDS[command]
  if (!understood) throw new Error(USER_USAGE)
  return { admin: flags.length > 0, command, username, email }
}

/** Names and password obey the rules of a registration over HTTP, told in the same words. */
async function createUser(
  accounts: Accounts,
  name: { username: string; email: string },
  admin: boolean,
): Promise<string> {
  const registration = { ...name, password: madePassword(accounts) }
  const faults = faultsOf(registrationBody(accounts.settings.passwordMinLength), registration)
  if (faults.length > 0) throw new Error(faults.join('\n'))
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

async function resetTo(accounts: Accounts, user: User): Promise<string> {
  const password = madePassword(accounts)
  await resetPassword(accounts, user, password, BY)
  return `New password of ${user.username}: ${password}`
}

async function requireNamed(accounts: Accounts, username: string): Promise<User> {
  const user = await findUserByUsername(accounts.db, normalName(username))
  if (!user) throw new Error(`There is no user "${username}".`)
  return user
}
