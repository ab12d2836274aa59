import { Problem } from '@plinth/kit/problems'
import { type Clock, secondsAfter } from '@plinth/kit/runtime'
import type { MovableClock } from '../state/clock.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import { readSwitches } from '../state/switches.ts'
import { failPayment, settlePayment } from './checkout/paying.ts'
import { expireSession } from './checkout/sessions.ts'
import { failRefund, settleRefund } from './money/refunds.ts'
import { deleteTimer, findDueTimer, type Timer, type TimerAction } from './timers.repository.ts'
import { findNextDelivery } from './webhooks/deliveries.repository.ts'

const ACTIONS: Record<TimerAction, (sandbox: Sandbox, id: string) => Promise<unknown>> = {
  'expire-session': expireSession,
  'settle-payment': settlePayment,
  'fail-payment': failPayment,
  'settle-refund': settleRefund,
  'fail-refund': failRefund,
}

/** Runs the timers that have become due, each as of the time it was due. */
export async function runTimers(sandbox: Sandbox): Promise<void> {
  const findNext = () => findDueTimer(sandbox.db, sandbox.clock())
  for (let timer = await findNext(); timer; timer = await findNext()) await fire(sandbox, timer)
}

async function fire(sandbox: Sandbox, timer: Timer): Promise<void> {
  const clock: Clock = () => timer.dueAt
  try {
    await change({ ...sandbox, clock }, async (inside) => {
      await deleteTimer(inside.db, timer.id)
      await ACTIONS[timer.action]?.(inside, timer.objectId)
    })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    // Something else has already settled it.
    await deleteTimer(sandbox.db, timer.id)
  }
}

/**
 * Moves the clock, stopping at everything that becomes due on the way: a retry that falls between
 * two others happens between them.
 */
export async function moveClock(
  sandbox: Sandbox,
  clock: MovableClock,
  seconds: number,
  deliver: () => Promise<void>,
): Promise<void> {
  const target = secondsAfter(clock(), seconds)
  const findNext = async () => {
    const { paused } = await readSwitches(sandbox.db)
    const delivery = paused ? undefined : await findNextDelivery(sandbox.db)
    const timer = await findDueTimer(sandbox.db, target)
    const moments = [delivery, timer?.dueAt].filter((at) => at !== undefined && at <= target)
    return moments.sort((a, b) => Number(a) - Number(b))[0]
  }
  for (let due = await findNext(); due; due = await findNext()) {
    if (due > clock()) await clock.moveTo(due)
    await runTimers(sandbox)
    await deliver()
  }
  await clock.moveTo(target)
}

const EVERY_MS = 500

/** Checks twice a second whether something has become due. Returns a function that stops it. */
export function startTicking(sandbox: Sandbox): () => Promise<void> {
  let round: Promise<void> | undefined
  const tick = async () => {
    try {
      await runTimers(sandbox)
      sandbox.wake()
    } catch (error) {
      sandbox.log.error({ err: error }, 'timers failed')
    }
    round = undefined
  }
  const timer = setInterval(() => {
    round ??= tick()
  }, EVERY_MS).unref()
  return async () => {
    clearInterval(timer)
    await round
  }
}
