import {
  type Db,
  inTransaction,
  isUniqueViolation,
  type Job,
  type LeaseTables,
  type Logger,
  StartError,
  secondsAfter,
  startJob,
} from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { deleteOldAuditEvents } from './database/audit.repository.ts'
import { deleteEndedAttempts } from './database/failed-attempts.repository.ts'
import { deleteExpiredSessions } from './database/sessions.repository.ts'
import {
  countUsers,
  findUserByUsername,
  insertUser,
  type NewUser,
} from './database/users.repository.ts'

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

/** What a start in development seeded must not be served in production unnoticed. */
export async function refuseDemoAccounts(accounts: Accounts): Promise<void> {
  const setting = accounts.settings.demoAccountsRefusedFor
  if (!setting) return
  const names = Object.keys(DEMO_ROLES)
  const open = await Promise.all(names.map((name) => isOpenToEverybody(accounts, name)))
  const found = names.filter((_, index) => open[index])
  if (found.length === 0) return
  throw new StartError(
    `This database has demo accounts whose password everybody knows: ${found.join(', ')}.
  Give each a new one with "user reset-password <username>" at the command line of this service, or
  close it with "user disable <username>". To serve them all the same: ${setting}=true`,
  )
}

async function isOpenToEverybody({ db, passwords }: Accounts, username: string): Promise<boolean> {
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

const EVERY_SECONDS = 60

const BATCH = 500

const DAY_SECONDS = 86_400

/** Keeps the tables as large as what is alive in them, and the signing keys young. */
export function startMaintenance(accounts: Accounts, log: Logger): Job {
  return startJob({
    db: accounts.db as unknown as Db<LeaseTables>,
    name: 'accounts-maintenance',
    everySeconds: EVERY_SECONDS,
    log,
    run: (signal) => maintain(accounts, signal),
  })
}

export async function maintain(accounts: Accounts, signal: AbortSignal): Promise<void> {
  const { db, settings } = accounts
  const now = accounts.clock()
  const auditEnd = secondsAfter(now, -settings.auditDays * DAY_SECONDS)
  await sweep(signal, (batch) => deleteExpiredSessions(db, now, batch))
  await sweep(signal, (batch) => deleteEndedAttempts(db, now, batch))
  await sweep(signal, (batch) => deleteOldAuditEvents(db, auditEnd, batch))
  await accounts.signingKeys.rotateWhenOlderThan(settings.keyRotationDays * DAY_SECONDS)
}

/** Deletes in small batches, so that no request ever waits behind a sweep. */
export async function sweep(
  signal: AbortSignal,
  deleteBatch: (limit: number) => Promise<number>,
): Promise<void> {
  let full = true
  while (full && !signal.aborted) full = (await deleteBatch(BATCH)) === BATCH
}
