import type { Logger } from '../logging.ts'

export type Followed = {
  /** Reads it now. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

type Options<T> = {
  /** What is followed, for the log. */
  name: string
  log: Logger
  read(): Promise<T>
  apply(value: T): void
}

const EVERY_MS = 1000

/**
 * Makes what is in the database apply to this process, also what another node has written. While it cannot be read,
 * what was read last applies.
 */
export function followDatabase<T>({ name, log, read, apply }: Options<T>): Followed {
  let [begun, applied] = [0, 0]
  const refresh = async () => {
    begun += 1
    const round = begun
    const value = await read()
    // What was read before a change must not undo it.
    if (round < applied) return
    applied = round
    apply(value)
  }
  const state = `follow ${name}`
  const message = `${name} could not be read`
  let last: Promise<void> | undefined
  const timer = setInterval(() => {
    last ??= refresh()
      .then(
        () => log.outages.ended(state),
        (err) => log.outages.failed({ state, message, err }),
      )
      .finally(() => {
        last = undefined
      })
  }, EVERY_MS).unref()
  const stop = async () => {
    clearInterval(timer)
    await last
  }
  return { refresh, stop }
}
