import type { Worker } from 'node:cluster'

/** What the primary says to a process that is to finish what it has and end. */
export const CLOSE = 'close'

/** What a process says to the primary when it listens at every address. */
export const LISTENING = 'listening'

type Close = () => Promise<void>

/**
 * For one of several processes. Ctrl-C and supervisors signal all of them, the primary too, and to
 * count both would be to end at once: only the primary says when to close, or is gone. Returns how to
 * say what closing is; until then there is nothing to finish.
 */
export function followPrimary(worker: Worker): (close: Close) => void {
  let close: Close | undefined = async () => {}
  const stop = () => {
    close?.().then(
      () => process.exit(0),
      () => process.exit(1),
    )
    close = undefined
  }
  process.on('SIGTERM', () => {}).on('SIGINT', () => {})
  process.on('message', (message) => message === CLOSE && stop())
  worker.once('disconnect', () => {
    // Otherwise Node ends a process without primary at once, with all that is under way.
    worker.exitedAfterDisconnect = true
    stop()
  })
  return (whole) => {
    if (close) close = whole
  }
}
