import { inTransaction, isUniqueViolation } from '@plinth/kit/database'
import { validationFailed } from '@plinth/kit/problems'
import { HOUR_SECONDS } from '@plinth/kit/runtime'
import { isReservedName } from '@plinth/service-keys'
import type { Accounts, Hold } from '../accounts.ts'
import { type By, type Origin, recordSecurityEvent } from '../audit/audit.ts'
import { admitWithin, recordRefusal } from '../audit/failure-limit.ts'
import type { AuditEvent } from '../audit-events.ts'
import { normalName } from '../database/names.ts'
import {
  findUserByEmail,
  findUserByUsername,
  type HashedRegistration,
  insertUser,
  markVerified,
  type NewUser,
  USER_ROLE,
  type User,
} from '../database/users.repository.ts'
import { emailTaken, registrationClosed, usernameTaken } from '../problems.ts'
import { requireStillAdmin } from './changes.ts'
import { refuseHeldNames } from './deletion.ts'
import { refuseGuessable } from './guessable-passwords.ts'
import { isUsername, USERNAME_RULE } from './schemas.ts'

type Registration = { username: string; email: string; password: string }

/** Who creates an account for another user, and with which roles. */
type Registrar = Partial<Omit<By, 'origin'>> & { roles?: string[]; event?: AuditEvent }

const MAX_EMAIL = 254

export function requireOpenRegistration({ registrationIsOpen }: Accounts): void {
  if (!registrationIsOpen()) throw registrationClosed()
}

/** Counts towards the registrations that a network may make in an hour, in whatever way; never in a transaction. */
export async function admitRegistration(accounts: Accounts, origin: Origin): Promise<void> {
  const limit = accounts.settings.registration.perHour
  const allowance = { kind: 'register', limit, seconds: HOUR_SECONDS }
  if (limit > 0) await admitWithin(accounts, allowance, { event: 'REGISTER' }, origin)
}

/**
 * Failed attempts count towards the limit too, so that a network cannot quickly find out which names are
 * taken. Returns `undefined` when the account is created only once the address is confirmed.
 */
export async function registerSelf(
  accounts: Accounts,
  registration: Registration,
  origin: Origin,
): Promise<User | undefined> {
  await admitRegistration(accounts, origin)
  const { confirmation } = accounts
  if (!confirmation?.isOn) return registerUser(accounts, registration, origin)
  await holdRegistration(accounts, confirmation.hold, registration, origin)
  return undefined
}

/**
 * Known and unknown addresses cost the same and get the same reply. A username is refused only if an account
 * has it: refusing those of held registrations would reveal which addresses were free. A username that is an
 * address must be the registered one, so that addresses cannot be probed as usernames.
 */
async function holdRegistration(
  accounts: Accounts,
  hold: Hold,
  registration: Registration,
  origin: Origin,
): Promise<void> {
  const username = normalName(registration.username)
  const email = normalName(registration.email)
  requireUsername(username)
  requireEmailLength(email)
  const isAddress = username.includes('@')
  if (isAddress && username !== email)
    throw validationFailed(['username: must not be an address other than your own'])
  await refuseGuessable(accounts, { username, email }, registration.password)
  if (!isAddress && (await findUserByUsername(accounts.db, username))) {
    await recordRefusal(accounts, { event: 'REGISTER', subject: username }, origin)
    throw usernameTaken()
  }
  const passwordHash = await accounts.passwords.hash(registration.password, origin.address)
  await hold({ username, email, passwordHash }, origin)
}

/** Creates the account of a registration whose address is confirmed, in the caller's transaction. */
export async function registerVerified(
  accounts: Accounts,
  registration: HashedRegistration,
  origin: Origin,
): Promise<void> {
  const { db, clock } = accounts
  const state = { roles: [USER_ROLE], enabled: true, createdAt: clock().toISOString() }
  const user = await insertUser(db, { ...registration, ...state })
  await refuseHeldNames(accounts, db, user)
  await markVerified(db, user)
  const { username, id: userId } = user
  const event = { event: 'REGISTER', actor: username, subject: username, userId } as const
  await recordSecurityEvent(accounts, event, origin)
}

/** Creates an account. People who register themselves cannot choose roles. */
export async function registerUser(
  accounts: Accounts,
  registration: Registration,
  origin: Origin,
  { actor, roles = [USER_ROLE], ...about }: Registrar = {},
): Promise<User> {
  const username = normalName(registration.username)
  const email = normalName(registration.email)
  requireUsername(username)
  requireEmailLength(email)
  await refuseGuessable(accounts, { username, email }, registration.password)
  await refuseTaken(accounts, { username, email }, origin)
  const passwordHash = await accounts.passwords.hash(registration.password, origin.address)
  const createdAt = accounts.clock().toISOString()
  const newUser = { username, email, roles, enabled: true, createdAt, passwordHash }
  return insertOrRefuse(accounts, newUser, { actor: actor ?? username, origin, ...about })
}

/** The stored name must meet the rule too: normalising changes the length, and decodes a domain. */
function requireUsername(username: string): void {
  if (!isUsername(username)) throw validationFailed([`username: ${USERNAME_RULE}`])
  if (isReservedName(username)) throw validationFailed(['username: is reserved'])
}

/** Like the username; lower-casing can double the length of an address. */
export function requireEmailLength(email: string, field = 'email'): void {
  if ([...email].length > MAX_EMAIL)
    throw validationFailed([`${field}: must have at most ${MAX_EMAIL} characters`])
}

/** The unique indexes let one of several concurrent registrations of a name succeed. */
async function insertOrRefuse(
  accounts: Accounts,
  newUser: NewUser,
  { actor, origin, reason, caller, event: name = 'REGISTER' }: By & { event?: AuditEvent },
): Promise<User> {
  try {
    return await inTransaction(accounts.db, async (db) => {
      if (caller) await requireStillAdmin(db, caller)
      const user = await insertUser(db, newUser)
      await refuseHeldNames(accounts, db, user)
      const who = { actor, reason, subject: user.username, userId: user.id }
      const event = { event: name, ...who }
      await recordSecurityEvent({ ...accounts, db }, event, origin)
      return user
    })
  } catch (error) {
    if (isUniqueViolation(error)) await refuseTaken(accounts, newUser, origin)
    throw error
  }
}

export async function refuseTaken(
  accounts: Accounts,
  { username, email }: { username: string; email: string },
  origin: Origin,
): Promise<void> {
  const named = await findUserByUsername(accounts.db, username)
  const holder = named ?? (await findUserByEmail(accounts.db, email))
  if (!holder) return
  await recordRefusal(accounts, { event: 'REGISTER', subject: holder.username }, origin)
  throw named ? usernameTaken() : emailTaken()
}
