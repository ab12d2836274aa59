import { faultsOf, inTransaction, newOpaqueToken, Problem, pathId } from '@plinth/kit'
import type { Accounts } from '../accounts.ts'
import { type Origin, recordEvent } from '../audit/audit.ts'
import { normalName } from '../database/names.ts'
import {
  ADMIN_ROLE,
  findUserByUsername,
  USER_ROLE,
  type User,
} from '../database/users.repository.ts'
import { sessionUnknown } from '../problems.ts'
import { endSessions, type PasskeyStore, resetPassword, sessionsOf } from './access.ts'
import { changeUser } from './changes.ts'
import { registrationBody, UserChangeBody } from './schemas.ts'
import { registerUser } from './users.ts'

/** As in sysexits.h, which has no code for a refusal. */
const REFUSED = 1
const USAGE_ERROR = 64
export const USER_USAGE = `Usage:
  user create <username> <email> [--admin]   prints a first password
  user enable <username>
  user disable <username>                    ends all sessions at once
  user roles <username> <role> [<role>]      ROLE_USER, ROLE_ADMIN: these and no others
  user reset-password <username>             prints a new password, ends all sessions
  user sessions <username>                   lists the active sessions
  user end-session <username> <id>|--all`

/** Where the host keeps passkeys. */
export const USER_AND_PASSKEY_USAGE = `${USER_USAGE}
  user passkeys <username>                   lists the passkeys
  user remove-passkey <username> <id>|--all
reset-password removes all passkeys as well; --keep-passkeys keeps them.`

type Shape = { least: number; most: number; flags?: string[] }

const ONE_USER: Shape = { least: 1, most: 1 }
const ONE_OR_ALL: Shape = { least: 1, most: 2, flags: ['--all'] }

const SHAPES = {
  create: { least: 2, most: 2, flags: ['--admin'] },
  enable: ONE_USER,
  disable: ONE_USER,
  roles: { least: 2, most: Number.POSITIVE_INFINITY },
  'reset-password': ONE_USER,
  sessions: ONE_USER,
  'end-session': ONE_OR_ALL,
} satisfies Record<string, Shape>

const PASSKEY_SHAPES = {
  'reset-password': { ...ONE_USER, flags: ['--keep-passkeys'] },
  passkeys: ONE_USER,
  'remove-passkey': ONE_OR_ALL,
} satisfies Record<string, Shape>

type Command = keyof typeof SHAPES | keyof typeof PASSKEY_SHAPES

const OPERATOR = 'command line'
const ORIGIN: Origin = { address: OPERATOR, userAgent: null, requestId: null }
const BY = { actor: OPERATOR, origin: ORIGIN }

/** Wrong arguments; the message says what is expected. */
class UsageError extends Error {}

/** For operators with access to the machine. Prints the result and returns the exit code. */
export async function runUserCommand(
  accounts: Accounts,
  words: string[],
  passkeys?: PasskeyStore,
): Promise<number> {
  try {
    console.log(await perform(accounts, readWords(words, passkeys !== undefined), passkeys))
    return 0
  } catch (error) {
    if (!(error instanceof Problem || error instanceof UsageError)) throw error
    console.error(error.message)
    return error instanceof Problem ? REFUSED : USAGE_ERROR
  }
}

async function perform(
  accounts: Accounts,
  { command, username, rest, flagged }: Words,
  passkeys: PasskeyStore | undefined,
): Promise<string> {
  if (command === 'create') return createUser(accounts, { username, email: rest.join() }, flagged)
  const user = await requireNamed(accounts, username)
  switch (command) {
    case 'enable':
    case 'disable':
      return setEnabled(accounts, user, command)
    case 'roles':
      return setRoles(accounts, user, rest)
    case 'reset-password':
      return resetToNew(accounts, user, flagged ? undefined : passkeys)
    case 'sessions':
      return table(await sessionsOf(accounts, user.id))
    case 'end-session':
      return endSession(accounts, user, rest[0])
    case 'passkeys':
      return table((await passkeys?.list(accounts.db, user.id)) ?? [])
    case 'remove-passkey':
      return removePasskeys(accounts, user, rest[0], passkeys)
  }
}

type Words = { command: Command; username: string; rest: string[]; flagged: boolean }

/** An unknown word is never ignored: it may be a misspelt `--admin`. */
function readWords(words: string[], withPasskeys: boolean): Words {
  const shapes: Record<string, Shape> = { ...SHAPES, ...(withPasskeys && PASSKEY_SHAPES) }
  const flags = words.filter((word) => word.startsWith('--'))
  const [command = '', ...operands] = words.filter((word) => !flags.includes(word))
  const shape = Object.hasOwn(shapes, command) ? shapes[command] : undefined
  if (!shape || !fits(shape, operands, flags))
    throw new UsageError(withPasskeys ? USER_AND_PASSKEY_USAGE : USER_USAGE)
  const [username = '', ...rest] = operands
  return { command: command as Command, username, rest, flagged: flags.length > 0 }
}

function fits(shape: Shape, operands: string[], flags: string[]): boolean {
  // Either an id or `--all`: an id that is left out must not end everything.
  const exact = shape !== ONE_OR_ALL || operands.length + flags.length === 2
  return (
    exact &&
    flags.every((flag) => shape.flags?.includes(flag)) &&
    operands.every((word) => word !== '') &&
    operands.length >= shape.least &&
    operands.length <= shape.most
  )
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

async function resetToNew(
  accounts: Accounts,
  user: User,
  passkeys: PasskeyStore | undefined,
): Promise<string> {
  const password = newPassword(accounts)
  await resetPassword(accounts, user, password, BY, passkeys)
  return `New password of ${user.username}: ${password}`
}

/** Without an id, all of them. */
async function endSession(accounts: Accounts, user: User, id: string | undefined): Promise<string> {
  const choice = id === undefined ? 'all' : { id: pathId(id, { unknown: sessionUnknown }) }
  await endSessions(accounts, user.id, choice, BY)
  return id === undefined ? 'All sessions are ended.' : `Session ${id} is ended.`
}

async function removePasskeys(
  accounts: Accounts,
  user: User,
  id: string | undefined,
  passkeys: PasskeyStore | undefined,
): Promise<string> {
  const removed = await inTransaction(accounts.db, async (db) => {
    const count = (await passkeys?.remove(db, user.id, id === undefined ? 'all' : { id })) ?? 0
    const event = { event: 'PASSKEY_REMOVED', actor: OPERATOR, subject: user.username }
    if (count > 0) await recordEvent({ ...accounts, db }, event, ORIGIN)
    return count
  })
  if (id !== undefined && removed === 0) throw new UsageError('There is no such passkey.')
  return `Passkeys removed: ${removed}.`
}

/** One line a row, its values apart by tabs. No session is the operator's own, so `current` is left out. */
function table(rows: Record<string, unknown>[]): string {
  const [first] = rows
  if (!first) return 'None.'
  const names = Object.keys(first).filter((name) => name !== 'current')
  return [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))]
    .map((line) => line.join('\t'))
    .join('\n')
}

async function requireNamed(accounts: Accounts, username: string): Promise<User> {
  const user = await findUserByUsername(accounts.db, normalName(username))
  if (!user) throw new UsageError(`There is no user "${username}".`)
  return user
}
