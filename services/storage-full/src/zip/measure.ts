import type { Metrics } from '@plinth/kit/metrics'

/** Returns what counts the bytes of archives. */
export function measureZips(metrics: Metrics): (bytes: number) => void {
  const count = metrics.counter({
    name: 'plinth_zip_bytes_total',
    help: 'Bytes of archives that were sent.',
  })
  return (bytes) => count({}, bytes)
}
