import { setTimeout } from 'node:timers/promises'

const PATIENCE_MS = 30_000

/** Reads again and again until the value is as wanted; fails with the last one after 30 seconds. */
export async function until<T>(
  read: () => Promise<T> | T,
  isWanted: (value: T) => boolean,
  pauseMs = 50,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const value = await read()
    if (isWanted(value)) return value
    if (performance.now() > deadline)
      throw new Error(`Gave up waiting; the last value was ${JSON.stringify(value)}.`)
    await setTimeout(pauseMs)
  }
}
