import { inTransaction, type Sort } from '@plinth/kit/database'
import { faultsOf, pathId } from '@plinth/kit/http'
import { notFound, validationFailed } from '@plinth/kit/problems'
import { newOpaqueToken } from '@plinth/kit/tokens'
import type { Accounts } from './accounts.ts'
import { type By, type Origin, recordSecurityEvent } from './audit/audit.ts'
import { formsOf } from './database/names.ts'
import {
  ADMIN_ROLE,
  findUserByForms,
  listUsers,
  lockUser,
  USER_ROLE,
  type User,
} from './database/users.repository.ts'
import { sessionUnknown, userUnknown } from './problems.ts'
import { endSessions, sessionsOf } from './sessions/sessions-of-users.ts'
import { changeUser } from './users/changes.ts'
import { refuseGuessable } from './users/guessable-passwords.ts'
import { type PasskeyStore, resetPassword } from './users/password-reset.ts'
import { registerUser } from './users/registration.ts'
import { passwordChangeBody, registrationBody, UserChangeBody } from './users/schemas.ts'
import { summaryOf } from './users/users.ts'

const OPERATOR = 'command line'
const ORIGIN: Origin = { address: OPERATOR, userAgent: null, requestId: null }
const BY = { actor: OPERATOR, origin: ORIGIN }
const PAGE = 500

/** What an operator with access to the machine may do. Users are identified by username. */
export type Operator = ReturnType<typeof operatorOf>

/** On a host with second factors. */
export type FactorStore = {
  /** Removes the factor of the user, in a transaction that has locked the user. */
  drop(accounts: Accounts, user: User, by: By): Promise<void>
}

export function operatorOf(accounts: Accounts, passkeys?: PasskeyStore, factors?: FactorStore) {
  const named = (username: string) => requireNamed(accounts, username)
  return {
    list: () => everyUser(accounts),
    create: (request: NewAccount) => createUser(accounts, request),
    setEnabled: async (username: string, enabled: boolean) =>
      summaryOf(await changeUser(accounts, (await named(username)).id, { enabled }, BY)),
    setRoles: async (username: string, roles: string[]) =>
      setRoles(accounts, await named(username), roles),
    /** Ends every session, and removes every passkey unless `keepPasskeys` is set. */
    resetPassword: async (username: string, given: { password?: string; keepPasskeys?: boolean }) =>
      resetTo(accounts, await named(username), given, passkeys),
    sessions: async (username: string) => {
      const sessions = await sessionsOf(accounts, (await named(username)).id)
      // No session is the operator's own.
      return sessions.map(({ current: _, ...session }) => session)
    },
    endSessions: async (username: string, id: string | 'all') => {
      const choice = id === 'all' ? id : { id: pathId(id, { unknown: sessionUnknown }) }
      await endSessions(accounts, (await named(username)).id, choice, BY)
    },
    passkeys: async (username: string) => {
      const { id } = await named(username)
      return (await passkeys?.list(accounts.db, id)) ?? []
    },
    removePasskeys: async (username: string, id: string | 'all') =>
      removePasskeys(accounts, await named(username), id, passkeys),
    removeFactor: async (username: string) =>
      removeFactor(accounts, await named(username), factors),
  }
}

async function everyUser({ db }: Accounts) {
  const users: User[] = []
  const sort: Sort[] = [{ property: 'id', direction: 'asc' }]
  for (let page = 0; users.length === page * PAGE; page++)
    users.push(...(await listUsers(db, { page, size: PAGE, offset: page * PAGE, sort })))
  return users.map(summaryOf)
}

type NewAccount = { username: string; email: string; admin?: boolean; password?: string }

/** Validates names and password like a registration over HTTP, with the same messages. */
async function createUser(accounts: Accounts, request: NewAccount) {
  const { username, email, admin = false, password = newPassword(accounts) } = request
  const registration = { username, email, password }
  const faults = faultsOf(registrationBody(accounts.settings.passwordMinLength), registration)
  if (faults.length > 0) throw validationFailed(faults)
  const roles = admin ? [ADMIN_ROLE, USER_ROLE] : [USER_ROLE]
  const user = await registerUser(accounts, registration, ORIGIN, { actor: OPERATOR, roles })
  return { ...summaryOf(user), password }
}

/** 256 random bits, repeated until the password has the required length. */
function newPassword({ settings }: Accounts): string {
  let password = newOpaqueToken()
  while (password.length < settings.passwordMinLength) password += newOpaqueToken()
  return password
}

/** The rule of `PATCH /api/users/{id}`, with the same messages. */
async function setRoles(accounts: Accounts, user: User, roles: string[]) {
  const faults = faultsOf(UserChangeBody, { roles })
  if (faults.length > 0) throw validationFailed(faults)
  return summaryOf(await changeUser(accounts, user.id, { roles }, BY))
}

async function resetTo(
  accounts: Accounts,
  user: User,
  given: { password?: string; keepPasskeys?: boolean },
  passkeys: PasskeyStore | undefined,
) {
  const { password = newPassword(accounts) } = given
  const body = passwordChangeBody(accounts.settings.passwordMinLength)
  const faults = faultsOf(body, { currentPassword: 'not asked for', newPassword: password })
  if (faults.length > 0) throw validationFailed(faults)
  await refuseGuessable(accounts, user, password)
  await resetPassword(accounts, user, password, BY, {
    ...(!given.keepPasskeys && { passkeys }),
    admit: async () => ({ isAdmitted: true }),
  })
  return { username: user.username, password }
}

async function removePasskeys(
  accounts: Accounts,
  user: User,
  id: string | 'all',
  passkeys: PasskeyStore | undefined,
): Promise<number> {
  const removed = await inTransaction(accounts.db, async (db) => {
    const count = (await passkeys?.remove(db, user.id, id === 'all' ? id : { id })) ?? 0
    const who = { actor: OPERATOR, subject: user.username, userId: user.id }
    const event = { event: 'PASSKEY_REMOVED', ...who } as const
    if (count > 0) await recordSecurityEvent({ ...accounts, db }, event, ORIGIN)
    return count
  })
  if (id !== 'all' && removed === 0) throw notFound({ detail: 'There is no such passkey.' })
  return removed
}

/** Takes effect at once: a sole administrator who has lost the factor has no other way back in. */
async function removeFactor(
  accounts: Accounts,
  { id, username }: User,
  factors: FactorStore | undefined,
): Promise<{ username: string }> {
  await inTransaction(accounts.db, async (db) => {
    const user = await lockUser(db, id)
    if (!user?.secondFactor || !factors)
      throw notFound({ detail: `${username} has no second factor.` })
    await factors.drop({ ...accounts, db }, user, BY)
  })
  return { username }
}

async function requireNamed(accounts: Accounts, username: string): Promise<User> {
  const user = await findUserByForms(accounts.db, formsOf(username))
  if (!user) throw userUnknown({ detail: `There is no user "${username}".` })
  return user
}
