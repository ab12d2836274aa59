import { type By, recordEvent, requireUser, sessionsOf, userDetails } from '@plinth/accounts'
import { listAuditOf, listMailsOf } from '../../database/user-data.repository.ts'
import type { Recovery } from '../recovery.ts'

const PART = 500

/**
 * What this service knows about one person, as JSON, read and sent in parts. It has no secrets: no
 * password, no key, no token.
 */
export async function exportUser(
  recovery: Recovery,
  userId: number,
  { actor, origin, reason }: By,
): Promise<AsyncGenerator<string>> {
  const { accounts } = recovery
  const { username } = await requireUser(accounts, userId)
  const event = { event: 'DATA_EXPORTED', actor, reason, subject: username, userId }
  await recordEvent(accounts, event, origin)
  return partsOf(recovery, userId, username)
}

async function* partsOf(
  { accounts, db, passkeys }: Recovery,
  userId: number,
  username: string,
): AsyncGenerator<string> {
  const sessions = await sessionsOf(accounts, userId)
  const head = {
    exportedAt: accounts.clock().toISOString(),
    profile: await userDetails(accounts, userId),
    sessions: sessions.map(({ current: _, ...session }) => session),
    passkeys: await passkeys.list(accounts.db, userId),
    mails: await listMailsOf(db, userId),
  }
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
