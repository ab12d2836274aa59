import { setTimeout } from 'node:timers/promises'

const PATIENCE_MS = 30_000

/** Polls until the value is wanted, or just true; after 30 seconds it throws with the last value. */
export async function until<T>(
  read: () => Promise<T> | T,
  isWanted: (value: T) => boolean = Boolean,
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
