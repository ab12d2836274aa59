import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { createLogger } from '@plinth/kit/logging'
import { type Env, readSettings } from '@plinth/kit/runtime'
import { type TestEngine, testClock } from '@plinth/kit/testing'
import { openAccounts } from '../src/accounts.ts'
import { accountMigrations } from '../src/database/migrations/index.ts'
import type { AccountTables } from '../src/database/tables.ts'
import { maintain } from '../src/host.ts'
import { accountSettings } from '../src/settings.ts'
import { prepareDemoAccounts } from '../src/users/first-users.ts'
import { cheapHashing } from './index.ts'

export const ORIGIN = { address: '127.0.0.1', userAgent: null, requestId: null }

export const USER = { username: 'user', password: 'password123123' }

/** Opens the accounts on a new database, without a server, and closes them when the test ends. */
export async function startAccounts(t: TestContext, engine: TestEngine, overrides: Env = {}) {
  const clock = testClock()
  const url = await engine.freshUrl(t, accountMigrations)
  const database = await openDatabase<AccountTables>(url, accountMigrations)
  const X_MASTER_KEY = randomBytes(32).toString('base64')
  const env = { X_MASTER_KEY, ...cheapHashing('X_'), ...overrides }
  const settings = readSettings(env, (read) =>
    accountSettings(read, {
      name: 'x',
      prefix: 'X_',
      host: 'localhost',
      publicUrl: 'http://localhost',
      dataFolder: '/nowhere',
      passwordMinLength: 8,
      registrations: ['open', 'closed'],
      logoutEndsCaller: true,
    }),
  )
  const lines: string[] = []
  const log = createLogger('test', 'error', { write: (line: string) => lines.push(line) })
  const accounts = await openAccounts(database.db, settings, { clock, log })
  await prepareDemoAccounts(accounts)
  t.after(async () => {
    await accounts.close()
    await database.close()
  })
  const count = async (table: 'sessions' | 'failed_attempts' | 'audit_events') => {
    const rows = await database.db.selectFrom(table).selectAll().execute()
    return rows.length
  }
  const maintainNow = () => maintain(accounts, new AbortController().signal)
  const logged = () => lines.map((line) => JSON.parse(line))
  return { accounts, clock, url, db: database.db, count, maintainNow, logged }
}
