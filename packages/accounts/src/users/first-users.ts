import { inTransaction, isUniqueViolation } from '@plinth/kit/database'
import { faultsOf, type Server } from '@plinth/kit/http'
import { Problem, StartError } from '@plinth/kit/problems'
import { isLocalAddress, SettingsError } from '@plinth/kit/runtime'
import type { Accounts } from '../accounts.ts'
import type { Origin } from '../audit/audit.ts'
import {
  ADMIN_ROLE,
  countUsers,
  findUserByUsername,
  insertUser,
  lockEnabledAdmins,
  type NewUser,
  USER_ROLE,
} from '../database/users.repository.ts'
import { emailTaken, usernameTaken } from '../problems.ts'
import type { AccountSettings, FirstAdmin } from '../settings.ts'
import { registerUser } from './registration.ts'
import { registrationBody } from './schemas.ts'

/** Publicly documented: for trying things out, never for production. */
const DEMO_PASSWORD = 'password123123'
const DEMO_ROLES = { admin: ['ROLE_ADMIN', 'ROLE_USER'], user: ['ROLE_USER'] }

/** What lets anyone in who has read the documentation: shown in development, a fault in production. */
export function demoConveniences({ demoAccounts }: Pick<AccountSettings, 'demoAccounts'>) {
  if (!demoAccounts) return { named: [] }
  const logins = Object.entries(DEMO_ROLES).map(([username, roles]) => ({
    username,
    password: DEMO_PASSWORD,
    roles,
  }))
  return { named: ['demo accounts'], logins }
}

/** Seeds demo accounts into an empty table, or refuses to start on them, as the settings say. */
export async function prepareDemoAccounts(accounts: Accounts): Promise<void> {
  const { demoAccounts, demoAccountsRefusedFor } = accounts.settings
  if (demoAccounts) await seedDemoAccounts(accounts)
  if (demoAccountsRefusedFor) await refuseDemoAccounts(accounts, demoAccountsRefusedFor)
}

/** When several nodes start together, the unique index lets only one of them seed. */
async function seedDemoAccounts(accounts: Accounts): Promise<void> {
  if ((await countUsers(accounts.db)) > 0) return
  const users = await Promise.all(
    Object.entries(DEMO_ROLES).map(([username, roles]) => demoUser(accounts, username, roles)),
  )
  try {
    await inTransaction(accounts.db, async (db) => {
      for (const user of users) await insertUser(db, user)
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
  }
}

/** A database that was seeded in development must not be served in production by mistake. */
async function refuseDemoAccounts(accounts: Accounts, setting: string): Promise<void> {
  const names = Object.keys(DEMO_ROLES)
  const open = await Promise.all(names.map((name) => hasDemoPassword(accounts, name)))
  const found = names.filter((_, index) => open[index])
  if (found.length === 0) return
  throw new StartError(
    `This database has demo accounts whose password everybody knows: ${found.join(', ')}.
  Give each a new one with "plinth user reset-password <username>", or close it with
  "plinth user disable <username>". To serve them anyway: ${setting}=true`,
  )
}

async function hasDemoPassword({ db, passwords }: Accounts, username: string): Promise<boolean> {
  const user = await findUserByUsername(db, username)
  return !!user?.enabled && (await passwords.verify(user.passwordHash, DEMO_PASSWORD, 'start'))
}

async function demoUser(accounts: Accounts, username: string, roles: string[]): Promise<NewUser> {
  return {
    username,
    email: `${username}@example.com`,
    roles,
    enabled: true,
    createdAt: accounts.clock().toISOString(),
    passwordHash: await accounts.passwords.hash(DEMO_PASSWORD, 'start'),
  }
}

const FROM_SETTINGS: Origin = { address: 'settings', userAgent: null, requestId: null }

/**
 * Creates the administrator of a new installation from the settings. Once an administrator exists, the
 * settings are ignored, because their password may be out of date. When several nodes start together, the
 * unique index lets only one of them create it.
 */
export async function prepareFirstAdmin(accounts: Accounts, { log }: Server): Promise<void> {
  const admin = accounts.settings.firstAdmin
  if (!admin) return
  const { setting } = admin
  if ((await lockEnabledAdmins(accounts.db)).length > 0)
    return log.info(`an administrator exists: ${setting} is ignored`)
  const faults = faultsOf(registrationBody(accounts.settings.passwordMinLength), admin)
  if (admin.mustBeMailable && isLocalAddress(admin.email))
    faults.push('email: must be an address that mail reaches, not one at localhost')
  if (faults.length > 0) throw refused(admin, faults)
  try {
    const roles = [ADMIN_ROLE, USER_ROLE]
    await registerUser(accounts, admin, FROM_SETTINGS, {
      actor: 'settings',
      roles,
    })
    log.info('created the first administrator')
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const isTaken: boolean = usernameTaken.is(error) || emailTaken.is(error)
    if (!isTaken)
      throw refused(admin, (error.extra.errors as string[] | undefined) ?? [error.message])
    if ((await lockEnabledAdmins(accounts.db)).length === 0)
      log.warn(
        `${setting} names a user who is not an administrator, and there is none: see "plinth user roles"`,
      )
  }
}

const EXAMPLES: Record<string, string> = {
  username: 'admin',
  email: 'admin@example.com',
  password: '$(openssl rand -base64 24)',
}

function refused({ setting, email }: FirstAdmin, faults: string[]): SettingsError {
  return new SettingsError(
    faults.map((fault) => {
      const [field = '', ...rest] = fault.split(': ')
      const name = setting.replace(/USERNAME$/, field.toUpperCase())
      const expected = `It ${rest.join(': ')}.`
      const found = field === 'email' && email === '' ? '(not set)' : '(set)'
      return { name, found, expected, example: EXAMPLES[field] ?? '' }
    }),
  )
}
