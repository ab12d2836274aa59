import { ProblemError, TimeoutError } from '../http/errors.ts'
import type { TokenPair, TokenStore } from './stores.ts'

/** The part of `navigator.locks` that is used here: browsers have it on secure pages, Node since 24. */
type Locks = {
  request(name: string, options: { signal: AbortSignal }, work: () => Promise<void>): Promise<void>
}

const MAX_WAIT_MS = 10_000
const SETTLE_MS = 500
const LATE_WINNER_MS = 2_000
const POLL_MS = 50

/**
 * Exchanges a pair while no other tab or worker that shares the store does. A tab that had to wait
 * adopts the pair that the other one has stored, and sends nothing.
 */
export async function inTurn(
  { store, spent, service }: { store: TokenStore; spent: TokenPair | undefined; service: string },
  exchange: () => Promise<TokenPair>,
): Promise<TokenPair> {
  const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {}
  if (!store.sharedAs || !locks) return exchange()
  const isReplaced = () => !isSame(store.get(), spent)
  const waiting = new AbortController()
  const late = new TimeoutError('Another tab has been refreshing the session for too long')
  const timer = setTimeout(() => waiting.abort(late), MAX_WAIT_MS)
  const unsubscribe = store.subscribe?.(() => {
    if (isReplaced()) waiting.abort(late)
  })
  try {
    return await new Promise<TokenPair>((resolve, reject) => {
      const turn = async () => {
        clearTimeout(timer)
        unsubscribe?.()
        if (isReplaced()) throw late
        const exchanging = exchange()
        exchanging.then(resolve, reject)
        // Other processes of the browser see the stored pair a moment later, perhaps only after they
        // get the lock. So this one holds the lock for that moment.
        if (await exchanging.then(isReplaced, () => false)) await pause(SETTLE_MS)
      }
      const { signal } = waiting
      locks.request(`plinth refresh ${store.sharedAs} ${service}`, { signal }, turn).catch(reject)
    })
  } catch (error) {
    if (error !== late || !isReplaced()) throw error
    return store.get() ?? Promise.reject(signedOut())
  } finally {
    clearTimeout(timer)
    unsubscribe?.()
  }
}

/** The pair of another tab that refreshed first, if that is why ours was refused. */
export async function pairOfOtherTab(
  store: TokenStore,
  spent: TokenPair | undefined,
): Promise<TokenPair | undefined> {
  const patience = store.sharedAs ? LATE_WINNER_MS : 0
  for (let waited = 0; isSame(store.get(), spent) && waited < patience; waited += POLL_MS)
    await pause(POLL_MS)
  const stored = store.get()
  return isSame(stored, spent) ? undefined : stored
}

export function isSame(one: TokenPair | undefined, other: TokenPair | undefined): boolean {
  return one?.refreshToken === other?.refreshToken
}

function signedOut(): ProblemError {
  const reply = { status: 401, headers: new Headers() }
  return new ProblemError(reply, { code: 'SIGNED_OUT', detail: 'Signed out in another tab' })
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
