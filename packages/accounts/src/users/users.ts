import type { PageRequest } from '@plinth/kit/database'
import { type Caller, pageOf } from '@plinth/kit/http'
import type { Accounts } from '../accounts.ts'
import { countUsers, findUserById, listUsers, type User } from '../database/users.repository.ts'
import { userUnknown } from '../problems.ts'

export { USER_SORTS } from '../database/users.repository.ts'

/** The most frequent request: answered from the row that identified the caller, without another query. */
export async function ownProfile(
  accounts: Accounts,
  { userId, account }: Caller & { account?: User },
): Promise<User> {
  return account ?? requireUser(accounts, Number(userId))
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

/** Everything but the password hash. */
export function summaryOf({ id, username, email, roles, enabled, createdAt }: User) {
  return { id, username, email, roles, enabled, createdAt }
}

/** What an administrator sees about one user. */
export async function userDetails(accounts: Accounts, id: number) {
  const user = await requireUser(accounts, id)
  const { verified, passwordExpired, secondFactor, lastSeenOn, deletion } = user
  return {
    ...summaryOf(user),
    emailVerified: verified,
    passwordChangeRequired: passwordExpired,
    secondFactor,
    lastSeenOn: lastSeenOn || null,
    deletesAt: deletion?.at ?? null,
    deletionBy: deletion?.by ?? null,
  }
}
