/**
 * Shares costly work between calls: calls made during a run wait for the next run and share it. So
 * the run that answers a call always started after that call.
 */
export function coalesce<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  let next: Promise<T> | undefined

  const start = (): Promise<T> => {
    const run = work()
    running = run
    const ended = () => {
      if (running === run) running = undefined
    }
    run.then(ended, ended)
    return run
  }

  return () => {
    if (!running) return start()
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return start()
      })
    return next
  }
}
