import {
  type By,
  findUserById,
  lockCaller,
  lockUser,
  type Origin,
  type PasskeyStore,
  recordSecurityEvent,
  requireUser,
  sessionsOf,
  userDetails,
  userUnknown,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { keysMadeBy, type ServiceKey } from '@plinth/service-keys'
import { listBrowsers } from '../database/browsers.repository.ts'
import { findFactor, unusedRecoveryCodes } from '../database/factors.repository.ts'
import { listGrants } from '../database/grants.repository.ts'
import { listIdentities } from '../database/identities.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { listAuditOf, listMailsOf } from '../database/user-data.repository.ts'
import { LIFETIME_SECONDS } from '../limits.ts'
import { queueMail, requireMail } from '../mail/outbox.ts'
import { accountLink, mayMail, type UserMails } from '../mail/user-mails.ts'
import { findToken, issueToken } from '../tokens/one-time-tokens.ts'
import { tokenRejected } from '../tokens/problems.ts'

/** What the rules of the data export need; every rule takes it as its first argument. */
export type DataExport = UserMails & { passkeys: PasskeyStore }

const PART = 500
const KIND = 'data-export'

/** Sends a mail whose link works for 24 hours. */
export async function requestExport(
  parts: DataExport,
  caller: Caller,
  origin: Origin,
): Promise<void> {
  const { accounts, db, outbox } = parts
  requireMail(outbox)
  await inTransaction(db, async (inside) => {
    await lockCaller(inside, caller)
    const user = await requireUser({ ...accounts, db: inside }, Number(caller.userId))
    const { id: userId, email: to } = user
    if (!(await mayMail(parts, inside, { kind: KIND, user, isDue: true, to, origin }))) return
    const { token } = await issueToken(
      { accounts, db: inside },
      { userId, kind: KIND, address: to },
    )
    const details = { link: accountLink(parts, 'export', token) }
    const lifetimeSeconds = LIFETIME_SECONDS[KIND]
    const mail = { kind: KIND, to, userId, details, reader: user, lifetimeSeconds } as const
    await queueMail(outbox, inside, mail, origin)
  })
}

/** The link can be used repeatedly until it expires, because a download can break off. */
export async function exportByMail(parts: DataExport, token: string, origin: Origin) {
  const { accounts, db } = parts
  const found = await findToken({ accounts, db }, KIND, { token })
  const user = found && (await findUserById(accounts.db, found.userId))
  if (!found || !user?.enabled || user.email !== found.address) throw tokenRejected()
  return exportUser(parts, user.id, { actor: user.username, origin })
}

/**
 * Everything this service stores about one person, as JSON, read and sent in parts. It contains no secrets:
 * no password, no key, no token.
 */
export async function exportUser(
  parts: DataExport,
  userId: number,
  { actor, origin, reason }: By,
): Promise<AsyncGenerator<string>> {
  const { accounts, db } = parts
  const username = await inTransaction(db, async (inside) => {
    const user = await lockUser(inside, userId)
    if (!user) throw userUnknown()
    const event = { event: 'DATA_EXPORTED', actor, reason, subject: user.username, userId } as const
    await recordSecurityEvent({ ...accounts, db: inside }, event, origin)
    return user.username
  })
  return partsOf(parts.db, username, await headOf(parts, userId, username))
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
async function headOf({ accounts, db, passkeys }: DataExport, userId: number, username: string) {
  const sessions = await sessionsOf(accounts, userId)
  return {
    exportedAt: accounts.clock().toISOString(),
    profile: await userDetails(accounts, userId),
    sessions: sessions.map(({ current: _, ...session }) => session),
    passkeys: await passkeys.list(accounts.db, userId),
    identities: (await listIdentities(db, userId)).map(({ id: _, userId: __, ...each }) => each),
    secondFactor: await secondFactorOf(db, userId),
    // Only a hash of each browser is stored.
    knownBrowsers: [...(await listBrowsers(db, userId)).values()].map((seenAt) => ({ seenAt })),
    grants: await listGrants(db, userId),
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
