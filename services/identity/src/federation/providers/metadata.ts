import { type Clock, HOUR_SECONDS, isAhead, secondsAfter } from '@plinth/kit/runtime'

const MAX_AGE_SECONDS = HOUR_SECONDS
const COOLDOWN_SECONDS = 10

/**
 * Keeps what a provider publishes about itself. It is read for the first sign-in and then once an hour; while the
 * provider is down, the last one stays valid. After a failure nothing is asked for a moment, so that the
 * requests of a dead provider fail at once instead of each waiting for it.
 */
export function keepMetadata<M>(clock: Clock, read: () => Promise<M>): () => Promise<M> {
  let known: M | undefined
  let staleAt = clock()
  let askAgainAt = clock()
  let failure: unknown
  let asking: Promise<void> | undefined

  async function ask(): Promise<void> {
    try {
      known = await read()
      staleAt = secondsAfter(clock(), MAX_AGE_SECONDS)
    } catch (error) {
      failure = error
      askAgainAt = secondsAfter(clock(), COOLDOWN_SECONDS)
    }
  }

  return async () => {
    const isFresh = known !== undefined && isAhead(staleAt, MAX_AGE_SECONDS, clock())
    const mayAsk = asking !== undefined || !isAhead(askAgainAt, COOLDOWN_SECONDS, clock())
    if (!isFresh && mayAsk) {
      asking ??= ask().finally(() => {
        asking = undefined
      })
      await asking
    }
    if (known === undefined) throw failure
    return known
  }
}
