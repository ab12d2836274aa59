import type { TokenPair } from '@plinth/client'

/** The dates of a pair are relative to when it was received. */
export type Kept = { pair: TokenPair; receivedAt: number }

export type KeptTokens<Value = Kept> = {
  read(): Promise<Value | undefined>
  keep(value: Value | undefined): Promise<void>
  /** One page at a time: a refresh token works once, whichever page uses it. */
  alone<T>(work: () => Promise<T>): Promise<T>
}

/** For a page without others. */
export const notKept: KeptTokens<never> = {
  read: async () => undefined,
  keep: async () => {},
  alone: (work) => work(),
}

const ANSWER_MS = 2_000

/**
 * What pages of one console keep together, in the memory of a worker. Storage would do too, but
 * browsers write it to disk, and the console promises to keep tokens in memory only.
 */
export function openKept<Value>(
  script: string,
  onChange: (value: Value | undefined) => void,
): KeptTokens<Value> {
  const address = new URL(script, location.href).href
  const worker = startWorker(address)
  if (!worker) return notKept
  const { port } = worker
  const waiting = new Map<number, (value: Value | undefined) => void>()
  let questions = 0
  port.onmessage = ({ data }) => {
    if (data.answers === undefined) return onChange(data.kept)
    waiting.get(data.answers)?.(data.kept)
    waiting.delete(data.answers)
  }

  function ask(message: object): Promise<Value | undefined> {
    questions += 1
    const question = questions
    const { promise, resolve } = Promise.withResolvers<Value | undefined>()
    waiting.set(question, resolve)
    // A worker that does not answer must not keep the page from working.
    setTimeout(resolve, ANSWER_MS)
    port.postMessage({ ...message, question })
    return promise
  }

  return {
    read: () => ask({}),
    keep: async (kept) => {
      await ask({ kept })
    },
    alone: (work) =>
      navigator.locks ? navigator.locks.request(`tokens ${address}`, work) : work(),
  }
}

type Policy = { createScriptURL(url: string): string }

type TrustedTypes = { createPolicy(name: string, rules: Policy): Policy }

const RULES: Policy = {
  createScriptURL(url) {
    const { origin, pathname, href } = new URL(url, location.href)
    if (origin !== location.origin || !pathname.endsWith('/session-worker.js'))
      throw new TypeError(`${url} is not a worker of a console.`)
    return href
  },
}

/**
 * The one policy that the page may make, and makes before anything else runs: a second one of the
 * name is refused. It lets workers of consoles at this origin pass and nothing else.
 */
const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
const policy = trustedTypes?.createPolicy('plinth-worker', RULES) ?? RULES

function startWorker(address: string): SharedWorker | undefined {
  try {
    // Outlives the last page, and so its reload, where the browser can do that; the lock says for how long.
    const options: WorkerOptions & { extendedLifetime: boolean } = {
      extendedLifetime: Boolean(navigator.locks),
    }
    navigator.locks?.request(`page ${address}`, { mode: 'shared' }, () => new Promise(() => {}))
    return new SharedWorker(policy.createScriptURL(address), options)
  } catch {
    return undefined
  }
}
