import { setTimeout as delay } from 'node:timers/promises'

/** Calls that wait until they are released: by the controls, by their client, or when the server closes. */
export type HeldCalls = {
  /** Resolves when the calls are released, when the client has hung up, or after `mostMs`. */
  hold(hungUp: AbortSignal, mostMs: number | null): Promise<void>
  /** Releases every held call and returns how many there were. */
  release(): number
  /** Resolves after the delay, or when the server closes. */
  wait(milliseconds: number): Promise<void>
  /** Lets every call go on: the server waits for them before it closes. */
  close(): void
}

export function createHeldCalls(): HeldCalls {
  const held = new Set<() => void>()
  const closing = new AbortController()
  const hold: HeldCalls['hold'] = async (hungUp, mostMs) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = mostMs === null ? undefined : setTimeout(resolve, mostMs)
    held.add(resolve)
    hungUp.addEventListener('abort', () => resolve())
    if (!hungUp.aborted && !closing.signal.aborted) await promise
    held.delete(resolve)
    clearTimeout(timer)
  }
  const release = () => {
    const count = held.size
    for (const resolve of held) resolve()
    held.clear()
    return count
  }
  const wait: HeldCalls['wait'] = (milliseconds) =>
    delay(milliseconds, undefined, { signal: closing.signal }).catch(() => {})
  const close = () => {
    closing.abort()
    release()
  }
  return { hold, release, wait, close }
}
