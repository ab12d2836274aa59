import type { Sandbox } from '../sandbox.ts'
import { runTimers } from './due.ts'

const EVERY_MS = 500

/** Looks twice a second whether something has become due. Returns the way to stop it. */
export function startTicking(sandbox: Sandbox): () => Promise<void> {
  let round: Promise<void> = Promise.resolve()
  let busy = false
  const tick = async () => {
    if (busy) return
    busy = true
    try {
      await runTimers(sandbox)
      sandbox.wake()
    } catch (error) {
      sandbox.log.error({ err: error }, 'a timer failed')
    } finally {
      busy = false
    }
  }
  const timer = setInterval(() => {
    round = tick()
  }, EVERY_MS).unref()
  return async () => {
    clearInterval(timer)
    await round
  }
}
