import { setTimeout } from 'node:timers/promises'

const PATIENCE_MS = 30_000
const PAUSE_MS = 50

/** Reads again until the value is the one that is waited for, and gives up loudly. */
export async function until<T>(
  read: () => Promise<T>,
  isWanted: (value: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const value = await read()
    if (isWanted(value)) return value
    if (performance.now() > deadline)
      throw new Error(`Waited in vain; the last value was ${JSON.stringify(value)}.`)
    await setTimeout(PAUSE_MS)
  }
}
