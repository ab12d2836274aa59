import {
  inTransaction,
  isUniqueViolation,
  type PageRequest,
  pageOf,
  validationFailed,
} from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { recordEvent } from './audit.ts'
import { normalName } from './names.ts'
import type { Origin } from './origin.ts'
import { emailTaken, usernameTaken, userUnknown } from './problems.ts'
import { recordRefusal } from './refusals.ts'
import { USERNAME_RULE } from './schemas.ts'
import {
  countUsers,
  findUserByEmail,
  findUserById,
  findUserByUsername,
  insertUser,
  type NewUser,
  type User,
} from './users.repository.ts'
import { listUsers } from './users-page.repository.ts'

export { ADMIN_ROLE, type User } from './users.repository.ts'
export { USER_SORTS } from './users-page.repository.ts'

export const USER_ROLE = 'ROLE_USER'

type Registration = { username: string; email: string; password: string }

/** Who makes an account for somebody else, and with which roles. */
type Registrar = { actor?: string; roles?: string[] }

/** Creates an account. Roles are never the caller's choice. */
export async function registerUser(
  accounts: Accounts,
  registration: Registration,
  origin: Origin,
  { actor, roles = [USER_ROLE] }: Registrar = {},
): Promise<User> {
  const username = normalName(registration.username)
  const email = normalName(registration.email)
  refuseOddLength(username)
  refuseCommonPassword(accounts, registration.password)
  await refuseTaken(accounts, { username, email }, origin)
  const passwordHash = await accounts.passwords.hash(registration.password, origin.address)
  const createdAt = accounts.clock().toISOString()
  const newUser = { username, email, roles, enabled: true, createdAt, passwordHash }
  return insertOrRefuse(accounts, newUser, { actor: actor ?? username, origin })
}

/** What is stored must obey the rule too: lower case and composed letters change the length. */
function refuseOddLength(username: string): void {
  const { length } = [...username]
  if (length < 3 || length > 50) throw validationFailed([`username: ${USERNAME_RULE}`])
}

/** The unique indexes decide: of several registrations of one name at once, one wins. */
async function insertOrRefuse(
  accounts: Accounts,
  newUser: NewUser,
  { actor, origin }: { actor: string; origin: Origin },
): Promise<User> {
  try {
    return await inTransaction(accounts.db, async (db) => {
      const user = await insertUser(db, newUser)
      const event = { event: 'REGISTER', actor, subject: user.username }
      await recordEvent({ ...accounts, db }, event, origin)
      return user
    })
  } catch (error) {
    if (isUniqueViolation(error)) await refuseTaken(accounts, newUser, origin)
    throw error
  }
}

async function refuseTaken(
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

export function refuseCommonPassword(
  { blockedPasswords }: Accounts,
  password: string,
  field = 'password',
): void {
  if (blockedPasswords.has(password.toLowerCase()))
    throw validationFailed([`${field}: is one that everybody tries first`])
}

export async function requireUser({ db }: Accounts, id: number): Promise<User> {
  const user = await findUserById(db, id)
  if (!user) throw userUnknown()
  return user
}

export async function pageOfUsers({ db }: Accounts, page: PageRequest) {
  const users = await listUsers(db, page)
  return pageOf(users.map(summaryOf), await countUsers(db), page)
}

/** Names what leaves: everything but the password hash. */
function summaryOf({ id, username, email, roles, enabled, createdAt }: User) {
  return { id, username, email, roles, enabled, createdAt }
}
