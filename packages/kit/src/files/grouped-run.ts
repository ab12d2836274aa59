/**
 * Makes a costly piece of work shareable: a call while a run is under way waits for the next one,
 * and all such calls share it. A run a caller is answered from always began after the call did.
 */
export function groupRuns<T>(work: () => Promise<T>): () => Promise<T> {
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
