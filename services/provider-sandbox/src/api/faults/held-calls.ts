/** Calls that wait until they are released: by the controls, by their client, or when the server closes. */
export type HeldCalls = {
  /** Resolves when the calls are released, when the client has hung up, or after `mostMs`. */
  hold(hungUp: AbortSignal, mostMs: number | null): Promise<void>
  /** Releases every held call and returns how many there were. */
  release(): number
}

export function createHeldCalls(): HeldCalls {
  const held = new Set<() => void>()
  const hold: HeldCalls['hold'] = async (hungUp, mostMs) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = mostMs === null ? undefined : setTimeout(resolve, mostMs)
    held.add(resolve)
    hungUp.addEventListener('abort', () => resolve())
    if (!hungUp.aborted) await promise
    held.delete(resolve)
    clearTimeout(timer)
  }
  const release = () => {
    const count = held.size
    for (const resolve of held) resolve()
    held.clear()
    return count
  }
  return { hold, release }
}
