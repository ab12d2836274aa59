import { inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import type { Accounts } from '../accounts.ts'
import { type By, recordSecurityEvent } from '../audit/audit.ts'
import { revokeSession, revokeSessions } from '../database/ended-sessions.repository.ts'
import { sessionWindow } from '../database/sessions.repository.ts'
import { findUserById, lockUser } from '../database/users.repository.ts'
import { sessionUnknown, userUnknown } from '../problems.ts'
import { liveSessions } from './sessions.ts'

/** The active sessions of a user, for administrators; `current` marks the caller's own. */
export async function sessionsOf(accounts: Accounts, userId: number, caller?: Caller) {
  if (!(await findUserById(accounts.db, userId))) throw userUnknown()
  const sessions = await liveSessions(accounts, userId)
  return sessions.map((session) => ({
    ...session,
    // Another issuer may use the same user and session ids.
    current: caller?.userId === String(userId) && caller.sessionId === String(session.id),
  }))
}

/** Revokes one session of a user, or all of them, for an administrator. */
export async function endSessions(
  accounts: Accounts,
  userId: number,
  choice: { id: number } | 'all',
  by: By,
): Promise<void> {
  await inTransaction(accounts.db, async (db) => {
    const user = await lockUser(db, userId)
    if (!user) throw userUnknown()
    if (choice === 'all') await revokeSessions(db, userId)
    else if (!(await revokeSession(db, userId, choice.id, sessionWindow(accounts))))
      throw sessionUnknown()
    const { actor, reason } = by
    const event = {
      event: 'SESSION_REVOKED',
      actor,
      reason,
      subject: user.username,
      userId,
    } as const
    await recordSecurityEvent({ ...accounts, db }, event, by.origin)
  })
}
