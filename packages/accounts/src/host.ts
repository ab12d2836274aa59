import { ENDPOINT_AUDIT_EVENTS } from '@plinth/events'
import { type Db, type Job, startJob } from '@plinth/kit/database'
import { type Guard, jwksRoutes, type Server } from '@plinth/kit/http'
import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import type { SigningKeys } from '@plinth/kit/tokens'
import { KEY_AUDIT_EVENTS, type KeyGuard } from '@plinth/service-keys'
import {
  type AccountGuard,
  type AccountScope,
  type Accounts,
  type Hooks,
  openAccounts,
} from './accounts.ts'
import { auditRoutes } from './audit/audit.routes.ts'
import { recordKeyEvents } from './audit/audit.ts'
import { AUDIT_EVENTS } from './audit-events.ts'
import { deleteOldAuditEvents } from './database/audit.repository.ts'
import { deleteEndedAttempts } from './database/counted-attempts.repository.ts'
import { freeNames } from './database/deletions.repository.ts'
import { revokeExpiredClients } from './database/ended-sessions.repository.ts'
import { deleteExpiredSessions } from './database/sessions.repository.ts'
import type { AccountTables } from './database/tables.ts'
import { measureAccounts } from './measure.ts'
import { accountGuard, type Callers } from './sessions/caller.ts'
import { sessionRoutes } from './sessions/sessions.routes.ts'
import type { AccountSettings } from './settings.ts'
import { requireStillAdmin } from './users/changes.ts'
import { prepareDemoAccounts, prepareFirstAdmin } from './users/first-users.ts'
import { userRoutes } from './users/users.routes.ts'

/** The rules for a host's service keys: the audit records changes, and only a current administrator issues one. */
export function keyRules(...audit: Parameters<typeof recordKeyEvents>) {
  return { record: recordKeyEvents(...audit), admit: requireStillAdmin }
}

/** The host's guard for recent reauthentication. */
type Recent = (accounts: Accounts) => Guard

type Extras<S extends string> = {
  keys?: KeyGuard<S | AccountScope>
  recent?: Recent
  callers?: (accounts: Accounts) => Callers
  /** What the audit of the host records besides. */
  auditEvents?: readonly string[]
  /** Further keys of the host, to be published with those of access tokens. */
  moreKeys?: SigningKeys
}

/**
 * Opens the accounts and mounts them on a server, which closes them when it closes. A failure closes
 * the server, and with it the database.
 */
export async function mountAccounts<S extends string>(
  server: Server,
  db: Db<AccountTables>,
  settings: AccountSettings,
  { keys, recent, callers, auditEvents = [], moreKeys, ...hooks }: Hooks & Extras<S> = {},
): Promise<{ accounts: Accounts; guard: AccountGuard<S | AccountScope>; callers: Callers }> {
  try {
    const accounts = await openAccounts(db, settings, server, hooks)
    server.onClose(accounts.close)
    await prepareDemoAccounts(accounts)
    await prepareFirstAdmin(accounts, server)
    server.onClose(startMaintenance(accounts, server).stop)
    if (settings.demoAccounts)
      server.announcements.push('demo accounts are on: everybody knows their password')
    addPageFacts(server, accounts, auditEvents)
    measureAccounts(server, accounts)
    const known = callers?.(accounts)
    const guard = accountGuard(accounts, keys, known)
    userRoutes(server, accounts, guard, ...(recent ? [recent(accounts)] : []))
    sessionRoutes(server, accounts, guard)
    auditRoutes(server, accounts, guard)
    jwksRoutes(server, accounts.signingKeys, ...(moreKeys ? [moreKeys] : []))
    return { accounts, guard, callers: known ?? guard }
  } catch (error) {
    await server.close().catch((failure) => {
      server.log.error({ err: failure }, 'closing after a failed start failed too')
    })
    throw error
  }
}

/** The consoles decide from these what to offer. */
function addPageFacts(
  server: Server,
  { settings, confirmation, registrationIsOpen }: Accounts,
  ofHost: readonly string[],
): void {
  const { demoAccounts, passwordMinLength } = settings
  const ofAccounts = Object.keys(AUDIT_EVENTS)
  const auditEvents = [...ofAccounts, ...ofHost, ...KEY_AUDIT_EVENTS, ...ENDPOINT_AUDIT_EVENTS]
  server.tellPages(() => ({
    demoAccounts,
    passwordMinLength,
    registrationByMail: confirmation?.isOn ?? false,
    auditEvents,
    registration: registrationIsOpen(),
  }))
}

const EVERY_SECONDS = 60

/** Deletes what has expired and rotates the signing keys. */
function startMaintenance(accounts: Accounts, { log, metrics }: Server): Job {
  return startJob({
    db: accounts.db,
    name: 'accounts-maintenance',
    everySeconds: EVERY_SECONDS,
    log,
    metrics,
    run: (signal) => maintain(accounts, signal),
  })
}

export async function maintain(accounts: Accounts, signal: AbortSignal): Promise<void> {
  const { db, settings } = accounts
  const now = accounts.clock()
  const auditEnd = secondsAfter(now, -settings.auditDays * DAY_SECONDS)
  await revokeExpiredClients(db, now)
  await deleteExpiredSessions(db, now, signal)
  await deleteEndedAttempts(db, now, signal)
  await deleteOldAuditEvents(db, auditEnd, signal)
  await freeNames(db, now)
  await accounts.signingKeys.rotateWhenOlderThan(settings.keyRotationDays * DAY_SECONDS)
}
