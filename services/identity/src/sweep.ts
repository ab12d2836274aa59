import { type Job, startJob } from '@plinth/kit/database'
import type { Server } from '@plinth/kit/http'
import { secondsAfter } from '@plinth/kit/runtime'
import { deleteUnfinished } from './database/factors.repository.ts'
import { deleteExpiredFederation } from './database/federation.repository.ts'
import { deleteExpiredHeld } from './database/held-registrations.repository.ts'
import { deleteExpiredCodes } from './database/mailed-codes.repository.ts'
import { deleteTokensExpiredBy } from './database/one-time-tokens.repository.ts'
import { removeDueFactors } from './factors/removal.ts'
import { ENDED_SECONDS, ENROLMENT_SECONDS } from './limits.ts'
import { sweepMails } from './mail/delivery.ts'
import type { UserMails } from './mail/user-mails.ts'
import { reportNewBrowsers } from './notices/new-browsers.ts'

const SWEEP_SECONDS = 60

/**
 * Deletes expired tokens, codes, registrations and unfinished enrolments, old mails, and factors whose removal is due;
 * reports sign-ins with new browsers.
 */
export function startSweep(
  { accounts, db, outbox, publicUrl }: UserMails,
  { log, metrics }: Server,
): Job {
  return startJob({
    db,
    name: 'identity-recovery-sweep',
    everySeconds: SWEEP_SECONDS,
    log,
    metrics,
    run: async (signal) => {
      await deleteTokensExpiredBy(db, secondsAfter(accounts.clock(), -ENDED_SECONDS), signal)
      await deleteExpiredHeld(db, accounts.clock(), signal)
      await deleteExpiredCodes(db, accounts.clock(), signal)
      await deleteExpiredFederation(db, accounts.clock(), signal)
      await sweepMails(outbox, signal)
      await removeDueFactors({ accounts, db }, signal)
      await reportNewBrowsers({ db, outbox, publicUrl }, signal)
      await deleteUnfinished(
        db,
        { now: accounts.clock(), pendingSeconds: ENROLMENT_SECONDS },
        signal,
      )
    },
  })
}
