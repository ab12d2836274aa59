import { type Logger, sweepOldSpools, sweepSpools } from '@plinth/kit'

const HOUR_MS = 3_600_000

/**
 * Removes what interrupted uploads have left: those of this machine now, those of machines that
 * never came back, and of versions that did not name theirs, when they are a day old.
 */
export async function startSweeping(incoming: string, log: Logger): Promise<() => void> {
  const sweepOld = () =>
    sweepOldSpools(incoming).catch((error) =>
      log.warn({ err: error }, 'old temporary files could not be removed'),
    )
  await sweepSpools(incoming)
  await sweepOld()
  const timer = setInterval(sweepOld, HOUR_MS).unref()
  return () => clearInterval(timer)
}
