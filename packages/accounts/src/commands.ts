import { newOpaqueToken } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { normalName } from './names.ts'
import type { Origin } from './origin.ts'
import { resetPassword } from './own-password.ts'
import { changeUser } from './user-changes.ts'
import { findUserByUsername } from './users.repository.ts'
import { ADMIN_ROLE, registerUser, USER_ROLE, type User } from './users.ts'

export const USER_USAGE = `Usage:
  user create <username> <email> [--admin]   prints a first password
  user enable <username>
  user disable <username>                    ends all sessions at once
  user reset-password <username>             prints a new password, ends all sessions`

const OPERATOR = 'command line'
const ORIGIN: Origin = { address: OPERATOR, userAgent: null, requestId: null }
const BY = { actor: OPERATOR, origin: ORIGIN }

/** What an operator does at the machine itself. Returns what to print; throws what went wrong. */
export async function runUserCommand(accounts: Accounts, words: string[]): Promise<string> {
  const [command = '', username = '', email = ''] = words.filter((word) => !word.startsWith('--'))
  if (command === 'create' && email !== '')
    return createUser(accounts, { username, email }, words.includes('--admin'))
  if (!['enable', 'disable', 'reset-password'].includes(command) || username === '')
    throw new Error(USER_USAGE)
  const user = await requireNamed(accounts, username)
  if (command === 'reset-password') return resetTo(accounts, user)
  await changeUser(accounts, user.id, { enabled: command === 'enable' }, BY)
  return `${user.username} is ${command}d.`
}

async function createUser(
  accounts: Accounts,
  name: { username: string; email: string },
  admin: boolean,
): Promise<string> {
  const password = newOpaqueToken()
  const roles = admin ? [ADMIN_ROLE, USER_ROLE] : [USER_ROLE]
  const user = await registerUser(accounts, { ...name, password }, ORIGIN, roles)
  return `Created ${user.username} (${roles.join(', ')}). First password: ${password}`
}

async function resetTo(accounts: Accounts, user: User): Promise<string> {
  const password = newOpaqueToken()
  await resetPassword(accounts, user, password, BY)
  return `New password of ${user.username}: ${password}`
}

async function requireNamed(accounts: Accounts, username: string): Promise<User> {
  const user = await findUserByUsername(accounts.db, normalName(username))
  if (!user) throw new Error(`There is no user "${username}".`)
  return user
}
