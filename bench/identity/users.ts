import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ADMIN_ROLE, accountSettings, openAccounts, registerUser } from '@plinth/accounts'
import { engineOf, openDatabase } from '@plinth/kit/database'
import { createLogger } from '@plinth/kit/logging'
import { readSettings, systemClock } from '@plinth/kit/runtime'
import { sql } from 'kysely'
import { identityMigrations } from '../../services/identity/src/database/migrations/index.ts'
import type { IdentityTables } from '../../services/identity/src/database/tables.ts'

const PASSWORD = 'password123123'
const ORIGIN = { address: 'bench', userAgent: null, requestId: null }

/** A SQLite database of its own, seeded. */
export async function seededDatabase(users: number) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-users-'))
  const url = `sqlite:${join(folder, 'identity.db')}`
  const masterKey = await seed(url, users, folder)
  return { url, masterKey, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * Fills a database with this many users and an administrator, all with the demo password, and returns its master key.
 * A hundred users have a second factor and were last seen in 2020.
 */
export async function seed(url: string, users: number, folder: string): Promise<string> {
  const masterKey = randomBytes(32).toString('base64')
  const { db, close } = await openDatabase<IdentityTables>(url, identityMigrations, {
    statementMs: 600_000,
  })
  const settings = readSettings({ B_MASTER_KEY: masterKey }, (read) =>
    accountSettings(read, {
      name: 'bench',
      prefix: 'B_',
      host: 'localhost',
      publicUrl: 'http://localhost',
      dataFolder: folder,
      passwordMinLength: 12,
      registrations: ['open', 'closed'],
      logoutEndsCaller: false,
    }),
  )
  const log = createLogger('users', 'error')
  const accounts = await openAccounts(db, settings, { clock: systemClock, log })
  const named = (username: string) => ({
    username,
    email: `${username}@localhost`,
    password: PASSWORD,
  })
  await registerUser(accounts, named('admin'), ORIGIN, { roles: [ADMIN_ROLE] })
  await registerUser(accounts, named('user0'), ORIGIN)
  // One hash for all: hashing does not depend on the number of users.
  await sql`
    insert into users (username, email, password_hash, roles, admin, enabled, created_at,
      second_factor, last_seen_on)
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${users})
    select 'user' || i, 'user' || i || '@localhost', password_hash, roles, 0, 1, created_at,
      case i % ${users / 100} when 1 then 1 else 0 end, case i % ${users / 100} when 1 then '2020-01-01' else '2030-01-01' end
    from n, users where users.username = 'user0'`.execute(db)
  await accounts.close()
  // As autovacuum would; nothing counts the rows of SQLite, and what it counted now would not be true of other tables.
  if (engineOf(db) === 'postgres') await sql`analyze`.execute(db)
  await close()
  return masterKey
}
