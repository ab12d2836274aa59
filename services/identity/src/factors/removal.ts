import {
  type By,
  lockUser,
  type Origin,
  recordSecurityEvent,
  requireUser,
  userUnknown,
} from '@plinth/accounts'
import { inTransaction } from '@plinth/kit/database'
import { HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { findFactor, listDueRemovals, scheduleRemoval } from '../database/factors.repository.ts'
import { factorAbsent } from './problems.ts'
import { dropSecondFactor, type Factors } from './second-factor.ts'

/**
 * An administrator removes the factor of a user who has lost it. "Please switch off my second factor" is also
 * what a password thief would write, so the owner is notified at once and has the delay to use the factor,
 * which cancels the removal. A second request changes nothing.
 */
export async function removeByAdministrator(
  { accounts, db, removalHours }: Factors,
  userId: number,
  { actor, origin, reason }: By,
): Promise<{ removesAt: string }> {
  return inTransaction(db, async (inside) => {
    const user = await lockUser(inside, userId)
    if (!user) throw userUnknown()
    const factor = await findFactor(inside, userId)
    if (!user.secondFactor || !factor) throw factorAbsent()
    if (factor.removesAt !== null) return { removesAt: factor.removesAt }
    const removesAt = secondsAfter(accounts.clock(), removalHours * HOUR_SECONDS).toISOString()
    if (removalHours === 0) {
      await dropSecondFactor(accounts, inside, user, { actor, origin, reason })
      return { removesAt }
    }
    await scheduleRemoval(inside, userId, removesAt)
    const who = { actor, reason, subject: user.username, userId }
    const event = { event: 'TOTP_REMOVAL_REQUESTED', ...who } as const
    await recordSecurityEvent({ ...accounts, db: inside }, event, origin)
    return { removesAt }
  })
}

/** What an administrator sees about a user's second factor. */
export async function secondFactorOf({ accounts, db }: Factors, userId: number) {
  const { secondFactor } = await requireUser(accounts, userId)
  const factor = secondFactor ? await findFactor(db, userId) : undefined
  return { secondFactor, removesAt: factor?.removesAt ?? null }
}

const BATCH_SIZE = 100
const ORIGIN: Origin = { address: 'delayed removal', userAgent: null, requestId: null }

/** Removes the factors whose removal is due, after checking under the lock that it was not cancelled. */
export async function removeDueFactors(
  { accounts, db }: Pick<Factors, 'accounts' | 'db'>,
  signal: AbortSignal,
): Promise<void> {
  const now = accounts.clock().toISOString()
  let due: number[]
  do {
    due = await listDueRemovals(db, now, BATCH_SIZE)
    for (const id of due) {
      if (signal.aborted) return
      await inTransaction(db, async (inside) => {
        const user = await lockUser(inside, id)
        const removesAt = (await findFactor(inside, id))?.removesAt ?? null
        if (!user || removesAt === null || removesAt > now) return
        await dropSecondFactor(accounts, inside, user, { origin: ORIGIN })
      })
    }
  } while (due.length === BATCH_SIZE)
}
