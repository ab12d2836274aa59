/** Calls that wait until they are let go: by the controls, by their client, or at the end. */
export type HeldCalls = {
  /** Resolves when the calls are released, or when the client has hung up, or after `mostMs`. */
  hold(hungUp: AbortSignal, mostMs: number | null): Promise<void>
  /** Lets every held call go and tells how many there were. */
  release(): number
}

export function createHeldCalls(): HeldCalls {
  const held = new Set<() => void>()
  return {
    hold: (hungUp, mostMs) =>
      new Promise((resolve) => {
        const go = () => {
          held.delete(go)
          clearTimeout(timer)
          hungUp.removeEventListener('abort', go)
          resolve()
        }
        const timer = mostMs === null ? undefined : setTimeout(go, mostMs)
        held.add(go)
        hungUp.addEventListener('abort', go)
        if (hungUp.aborted) go()
      }),
    release: () => {
      const count = held.size
      for (const go of [...held]) go()
      return count
    },
  }
}
