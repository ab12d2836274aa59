import { inTransaction, isUniqueViolation } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { countUsers, insertUser, type NewUser } from './users.repository.ts'

/** Known to everybody who reads the documentation: for trying things out, never for production. */
const DEMO_PASSWORD = 'password123123'
const DEMO_ROLES = { admin: ['ROLE_ADMIN', 'ROLE_USER'], user: ['ROLE_USER'] }

/** Fills an empty table; of several nodes that start at once, one does. */
export async function seedDemoAccounts(accounts: Accounts): Promise<void> {
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
