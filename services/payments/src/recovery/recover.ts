import { setTimeout } from 'node:timers/promises'
import type { Server } from '@plinth/kit/http'
import { databaseUnavailable } from '@plinth/kit/problems'
import type { Payments } from '../payment/context.ts'
import { listPaymentsToCheck } from '../payment/database/payments.repository.ts'
import { deleteRestores, isRestored } from '../payment/database/restores.repository.ts'
import type { Jobs } from './jobs.ts'
import { updateUnresolvedToCheck } from './recover.repository.ts'

const RETRY_MS = 1_000
/** Of 50 payments each. The jobs reconcile whatever is left. */
const MAX_ROUNDS = 1_000

/** `isWaiting` until the provider has been asked what happened since the backup. */
type CatchingUp = { isWaiting: boolean }

type Check = () => Promise<boolean>

/**
 * Reconciles whatever was in flight when the last process ended before anything else. Returns a wrapper
 * for the health check: after a restore, the wrapped check fails until the provider has been asked.
 */
export async function recoverAtStart(
  server: Server,
  payments: Payments,
  jobs: Jobs,
): Promise<(check: Check) => Check> {
  await updateUnresolvedToCheck(payments.db, payments.clock())
  jobs.wake()
  const catchingUp = await catchUpAfterRestore(server, payments, jobs)
  return (check) => async () => !catchingUp.isWaiting && (await check())
}

/**
 * A restored database knows nothing of the payments and refunds made since the backup: serving from
 * it could take money twice. So the provider is asked first, for as long as it takes.
 */
async function catchUpAfterRestore(
  server: Server,
  payments: Payments,
  jobs: Jobs,
): Promise<CatchingUp> {
  const stopping = new AbortController()
  const isWaiting = payments.provider.calls !== undefined && (await isRestored(payments.db))
  const state: CatchingUp = { isWaiting }
  if (!isWaiting) return state
  refuseWhile(server, state)
  const work = (async () => {
    while (!stopping.signal.aborted) {
      const done = await catchUp(payments, jobs).catch((error) => {
        payments.log.warn({ err: error }, 'catching up after a restore failed; trying again')
        return false
      })
      if (done) break
      await setTimeout(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
    if (stopping.signal.aborted) return
    state.isWaiting = false
    payments.log.info('the provider was asked what happened since the backup')
  })()
  server.onClose(async () => {
    stopping.abort()
    await work
  })
  return state
}

/** False when another node is running one of the jobs. */
async function catchUp(payments: Payments, jobs: Jobs): Promise<boolean> {
  if (!(await jobs.poll.runNow())) return false
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if (!(await jobs.reconcile.runNow())) return false
    const due = await listPaymentsToCheck(payments.db, payments.clock(), 1)
    if (due.length === 0) break
  }
  await deleteRestores(payments.db)
  return true
}

const WAIT = 'The data was restored, and the provider has not yet said what has happened since.'

/** Refuses API calls only: health and pages are still served. */
function refuseWhile(server: Server, catchingUp: CatchingUp): void {
  server.addHook('onRequest', async ({ url }) => {
    if (catchingUp.isWaiting && /^(\/[^?]*)?\/api\//.test(url))
      throw databaseUnavailable({ detail: WAIT })
  })
}
