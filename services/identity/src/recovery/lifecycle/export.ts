import {
  type By,
  findUserById,
  lockCaller,
  lockUser,
  type Origin,
  recordEvent,
  requireUser,
  sessionsOf,
  userDetails,
  userUnknown,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { keysMadeBy, type ServiceKey } from '@plinth/service-keys'
import { listBrowsers } from '../../database/browsers.repository.ts'
import { findFactor, unusedRecoveryCodes } from '../../database/factors.repository.ts'
import type { IdentityTables } from '../../database/tables.ts'
import { listAuditOf, listMailsOf } from '../../database/user-data.repository.ts'
import { queueMail, requireMail } from '../../mail/outbox.ts'
import { findToken, issueToken, LIFETIME_SECONDS } from '../one-time-tokens.ts'
import { tokenRejected } from '../problems.ts'
import { accountLink, mayMail, type Recovery, within } from '../recovery.ts'

const PART = 500
const KIND = 'data-export'

/** Sends a mail whose link works for 24 hours. */
export async function requestExport(
  recovery: Recovery,
  caller: Caller,
  origin: Origin,
): Promise<void> {
  const { accounts, db, outbox } = recovery
  requireMail(outbox)
  await inTransaction(db, async (inside) => {
    await lockCaller(inside, caller)
    const user = await requireUser(within(accounts, inside), Number(caller.userId))
    const { id: userId, email: to } = user
    if (!(await mayMail(recovery, inside, { kind: KIND, user, isDue: true, to, origin }))) return
    const { token } = await issueToken(
      { accounts, db: inside },
      { userId, kind: KIND, address: to },
    )
    const details = { link: accountLink(recovery, 'export', token) }
    const lifetimeSeconds = LIFETIME_SECONDS[KIND]
    const mail = { kind: KIND, to, userId, details, reader: user, lifetimeSeconds } as const
    await queueMail(outbox, inside, mail, origin)
  })
}

/** The link can be used repeatedly until it expires, because a download can break off. */
export async function exportByMail(recovery: Recovery, token: string, origin: Origin) {
  const { accounts, db } = recovery
  const found = await findToken({ accounts, db }, KIND, { token })
  const user = found && (await findUserById(accounts.db, found.userId))
  if (!found || !user?.enabled || user.email !== found.address) throw tokenRejected()
  return exportUser(recovery, user.id, { actor: user.username, origin })
}

/**
 * Everything this service stores about one person, as JSON, read and sent in parts. It contains no secrets:
 * no password, no key, no token.
 */
export async function exportUser(
  recovery: Recovery,
  userId: number,
  { actor, origin, reason }: By,
): Promise<AsyncGenerator<string>> {
  const { accounts, db } = recovery
  const username = await inTransaction(db, async (inside) => {
    const user = await lockUser(within(accounts, inside).db, userId)
    if (!user) throw userUnknown()
    const event = { event: 'DATA_EXPORTED', actor, reason, subject: user.username, userId }
    await recordEvent(within(accounts, inside), event, origin)
    return user.username
  })
  return partsOf(recovery.db, username, await headOf(recovery, userId, username))
}

/** Where to find the data of other services, which identity cannot read. */
const ELSEWHERE = {
  files: 'GET /file/list of the storage service, as the user',
  payments: 'GET /api/customers?email= and GET /api/payments of the payment service, for operators',
}

async function secondFactorOf(db: Db<IdentityTables>, userId: number) {
  const factor = await findFactor(db, userId)
  if (factor?.state !== 'active') return null
  const { remaining } = await unusedRecoveryCodes(db, userId)
  return { enrolledAt: factor.confirmedAt, recoveryCodesLeft: remaining }
}

function describeKey(key: ServiceKey) {
  const { name, scopes, allowedCidrs, createdAt, expiresAt, revokedAt } = key
  const { lastUsedAt, lastUsedAddress } = key
  const use = { lastUsedAt, lastUsedAddress }
  return { name, scopes, allowedCidrs, createdAt, expiresAt, revokedAt, ...use }
}

/** Read before the reply begins, so that a failure gets a proper answer. */
async function headOf({ accounts, db, passkeys }: Recovery, userId: number, username: string) {
  const sessions = await sessionsOf(accounts, userId)
  return {
    exportedAt: accounts.clock().toISOString(),
    profile: await userDetails(accounts, userId),
    sessions: sessions.map(({ current: _, ...session }) => session),
    passkeys: await passkeys.list(accounts.db, userId),
    secondFactor: await secondFactorOf(db, userId),
    // Only a hash of each browser is stored.
    knownBrowsers: [...(await listBrowsers(db, userId)).values()].map((seenAt) => ({ seenAt })),
    serviceKeys: (await keysMadeBy(db, username)).map(describeKey),
    mails: await listMailsOf(db, userId),
    elsewhere: ELSEWHERE,
  }
}

async function* partsOf(
  db: Db<IdentityTables>,
  username: string,
  head: object,
): AsyncGenerator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"audit":[`
  let after = 0
  let first = true
  for (;;) {
    const rows = await listAuditOf(db, username, { after, most: PART })
    if (rows.length > 0) yield (first ? '' : ',') + rows.map((row) => JSON.stringify(row)).join()
    if (rows.length < PART) break
    first = false
    after = rows.at(-1)?.id ?? after
  }
  yield ']}'
}
