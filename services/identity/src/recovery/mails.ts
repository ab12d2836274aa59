import { type Job, startJob } from '@plinth/kit/database'
import type { Server } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import { secondsAfter } from '@plinth/kit/runtime'
import { deleteUnfinished } from '../database/factors.repository.ts'
import { deleteExpiredHeld } from '../database/held-registrations.repository.ts'
import { deleteTokensExpiredBy } from '../database/one-time-tokens.repository.ts'
import { PENDING_SECONDS } from '../factors/enrolment.ts'
import { removeDueFactors } from '../factors/removal.ts'
import { type Prepare, sweepMails } from '../mail/delivery.ts'
import { prepareEmailChange } from './by-mail/email-change.ts'
import { prepareReset } from './by-mail/password-reset.ts'
import { prepareRegistration } from './by-mail/registration.ts'
import { prepareVerification } from './by-mail/verification.ts'
import { reportNewBrowsers } from './new-browsers.ts'
import { ENDED_SECONDS } from './one-time-tokens.ts'
import type { Recovery } from './recovery.ts'

/** The preparation of each kind of mail that is decided after the reply. */
export function prepareMails(recovery: Recovery): Prepare {
  const reset = prepareReset(recovery)
  const preparations: Record<string, Prepare> = {
    'password-reset': reset,
    'password-reset-by-administrator': reset,
    'password-reset-keeping-passkeys': reset,
    invitation: reset,
    'registered-twice': reset,
    'password-ended': reset,
    'verify-email': prepareVerification(recovery),
    'already-registered': prepareRegistration(recovery),
    'email-change': prepareEmailChange(recovery),
  }
  return async (db, mail) => preparations[mail.kind]?.(db, mail)
}

const SWEEP_SECONDS = 60

/**
 * Deletes expired tokens, registrations and unfinished enrolments, old mails, and factors whose removal is due;
 * reports sign-ins with new browsers.
 */
export function startRecoverySweep(
  { accounts, db, outbox, publicUrl }: Recovery,
  { log, metrics }: Server,
): Job {
  return startJob({
    db: db,
    name: 'identity-recovery-sweep',
    everySeconds: SWEEP_SECONDS,
    log: log as Logger,
    metrics,
    run: async (signal) => {
      await deleteTokensExpiredBy(db, secondsAfter(accounts.clock(), -ENDED_SECONDS), signal)
      await deleteExpiredHeld(db, accounts.clock(), signal)
      await sweepMails(outbox, signal)
      await removeDueFactors({ accounts, db }, signal)
      await reportNewBrowsers({ db, outbox, publicUrl }, signal)
      await deleteUnfinished(db, { now: accounts.clock(), pendingSeconds: PENDING_SECONDS }, signal)
    },
  })
}
