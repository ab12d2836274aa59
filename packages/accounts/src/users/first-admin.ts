import { faultsOf, Problem, type Server, SettingsError } from '@plinth/kit'
import type { Accounts, FirstAdmin } from '../accounts.ts'
import type { Origin } from '../audit/audit.ts'
import { ADMIN_ROLE, lockEnabledAdmins, USER_ROLE } from '../database/users.repository.ts'
import { emailTaken, usernameTaken } from '../problems.ts'
import { registrationBody } from './schemas.ts'
import { registerUser } from './users.ts'

const ORIGIN: Origin = { address: 'settings', userAgent: null, requestId: null }

/**
 * The administrator of a new installation, from the settings. Once there is one, the settings are
 * ignored: the password in them may be an old one. When several nodes start together, the unique
 * index lets one of them create it.
 */
export async function prepareFirstAdmin(accounts: Accounts, { log }: Server): Promise<void> {
  const admin = accounts.settings.firstAdmin
  if (!admin) return
  const { setting } = admin
  if ((await lockEnabledAdmins(accounts.db)).length > 0)
    return log.info(`there is an administrator: ${setting} is ignored`)
  const faults = faultsOf(registrationBody(accounts.settings.passwordMinLength), admin)
  if (faults.length > 0) throw refused(admin, faults)
  try {
    const roles = [ADMIN_ROLE, USER_ROLE]
    const { username } = await registerUser(accounts, admin, ORIGIN, { actor: 'settings', roles })
    log.info({ username }, 'the first administrator is created')
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const isTaken: boolean = usernameTaken.is(error) || emailTaken.is(error)
    if (!isTaken)
      throw refused(admin, (error.extra.errors as string[] | undefined) ?? [error.message])
    if ((await lockEnabledAdmins(accounts.db)).length === 0)
      log.warn(`${setting} names a user who is no administrator, and there is none: see user roles`)
  }
}

function refused({ setting }: FirstAdmin, faults: string[]): SettingsError {
  return new SettingsError(
    faults.map((fault) => {
      const [field = '', ...rest] = fault.split(': ')
      const name = setting.replace(/USERNAME$/, field.toUpperCase())
      return { name, found: '(set)', expected: `It ${rest.join(': ')}.` }
    }),
  )
}
