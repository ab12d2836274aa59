import type { Logger } from '@plinth/kit/logging'

type Recorded = { name: string; everySeconds: number; log: Logger }

/** A reading that fails leaves a gap; the log says why. Returns what stops it. */
export function recordEvery(
  { name, everySeconds, log }: Recorded,
  record: () => Promise<void>,
): () => void {
  const state = `record ${name}`
  const message = `${name} could not be read`
  // Longer than the pause between two readings, of which each would otherwise be an outage of its own.
  const quietMs = 2 * everySeconds * 1000
  const timer = setInterval(() => {
    record().then(
      () => log.outages.ended(state),
      (err) => log.outages.failed({ state, message, err, quietMs }),
    )
  }, everySeconds * 1000).unref()
  return () => clearInterval(timer)
}
