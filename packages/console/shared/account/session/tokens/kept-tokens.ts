import type { TokenPair } from '@plinth/client'
import { openHandover } from './handover.ts'
import { trusted } from './worker-address.ts'

/** The lifetimes of a pair count from when it was received. */
export type Kept = { pair: TokenPair; receivedAt: number }

/** When the tokens expire by the clock of the browser, which may differ from the service's. */
export function expiryOf(kept: Kept | undefined): { access: number; refresh: number } {
  if (!kept) return { access: 0, refresh: 0 }
  const { expiresInSeconds, refreshTokenExpiresInSeconds } = kept.pair
  const after = (seconds: number) => kept.receivedAt + seconds * 1000
  return { access: after(expiresInSeconds), refresh: after(refreshTokenExpiresInSeconds) }
}

export type KeptTokens<Value = Kept> = {
  read(): Promise<Value | undefined>
  keep(value: Value | undefined): Promise<void>
  /** Runs `work` in one page at a time: a refresh token works only once across all pages. */
  withLock<T>(work: () => Promise<T>): Promise<T>
}

/** For a page that shares nothing. */
export const notKept: KeptTokens<never> = {
  read: async () => undefined,
  keep: async () => {},
  withLock: (work) => work(),
}

/**
 * A value that the pages of one console share, in the memory of a worker. Browser storage would work,
 * too, but is written to disk, and the console promises to keep tokens in memory only.
 */
export function openKept<Value>(
  script: string,
  onChange: (value: Value | undefined) => void,
): KeptTokens<Value> {
  const address = new URL(script, location.href).href
  const worker = startWorker(address)
  const handover = worker?.outlivesPages ? undefined : openHandover<Value>(address)
  const ask = worker ? questionsTo<Value>(worker.port, change) : inThisPage<Value>()

  function change(value: Value | undefined): void {
    handover?.note(value)
    onChange(value)
  }

  return {
    async read() {
      const { kept, isTold } = await ask({})
      const before = isTold ? undefined : await handover?.take()
      if (before !== undefined) await ask({ kept: before, isOld: true })
      const value = kept ?? before
      handover?.note(value)
      return value
    },
    async keep(kept) {
      handover?.note(kept)
      await ask({ kept })
    },
    withLock: (work) =>
      navigator.locks ? navigator.locks.request(`tokens ${address}`, work) : work(),
  }
}

/** `isOld`: the value is from before a reload, so it counts only if no page has set another one since. */
type Question<Value> = { kept?: Value | undefined; isOld?: boolean }
type Answer<Value> = { kept?: Value; isTold?: boolean }

const ANSWER_MS = 2_000

function questionsTo<Value>(port: MessagePort, onChange: (value: Value | undefined) => void) {
  const waiting = new Map<number, (answer: Answer<Value>) => void>()
  let questions = 0
  port.onmessage = ({ data }) => {
    if (data.answers === undefined) return onChange(data.kept)
    waiting.get(data.answers)?.(data)
    waiting.delete(data.answers)
  }
  return (message: Question<Value>): Promise<Answer<Value>> => {
    questions += 1
    const question = questions
    const { promise, resolve } = Promise.withResolvers<Answer<Value>>()
    waiting.set(question, resolve)
    // A worker that does not answer must not block the page.
    setTimeout(resolve, ANSWER_MS, {})
    port.postMessage({ ...message, question })
    return promise
  }
}

/** For browsers without shared workers, such as some on phones. */
function inThisPage<Value>() {
  let answer: Answer<Value> = {}
  return async (message: Question<Value>): Promise<Answer<Value>> => {
    if ('kept' in message) answer = { kept: message.kept, isTold: true } as Answer<Value>
    return answer
  }
}

type Worker = { port: MessagePort; outlivesPages: boolean }

function startWorker(address: string): Worker | undefined {
  let outlivesPages = false
  // Read only by browsers that can keep the worker alive over a reload. The lock tells it how long it is needed.
  const options: WorkerOptions & { readonly extendedLifetime: boolean } = {
    get extendedLifetime() {
      outlivesPages = Boolean(navigator.locks)
      return outlivesPages
    },
  }
  try {
    navigator.locks?.request(`page ${address}`, { mode: 'shared' }, () => new Promise(() => {}))
    const { port } = new SharedWorker(trusted(address), options)
    return { port, outlivesPages }
  } catch {
    return undefined
  }
}
