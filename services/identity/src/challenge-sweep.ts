import { sweep } from '@plinth/accounts'
import { type Db, type Job, type LeaseTables, type Logger, startJob } from '@plinth/kit'
import { deleteExpiredChallenges } from './challenges.repository.ts'
import { type Identity, passkeyTables } from './identity.ts'

const EVERY_SECONDS = 60

/** Removes the challenges of ceremonies that nobody finished. */
export function startChallengeSweep({ db, clock }: Identity, log: Logger): Job {
  return startJob({
    db: db as unknown as Db<LeaseTables>,
    name: 'identity-challenge-sweep',
    everySeconds: EVERY_SECONDS,
    log,
    run: (signal) =>
      sweep(signal, (batch) => deleteExpiredChallenges(passkeyTables(db), clock(), batch)),
  })
}
