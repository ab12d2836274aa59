import type { TokenPair } from '@plinth/client'
import type { Reply } from '../../../api/api.ts'
import { type Kept, type KeptTokens, notKept } from './kept-tokens.ts'

type Rotation = (refreshToken: string) => Promise<Reply<TokenPair>>
type Logout = (refreshToken: string) => Promise<Reply>

const RENEWED_ELSEWHERE = { ok: true, status: 200 } as Reply<TokenPair>

/**
 * Holds the tokens of one page and shares them with the other pages of the console through `kept`. They
 * live in memory and nowhere else: no storage, no cookie, no global, no signal. `onChange` gets every
 * new pair, so that its expiry can be shown.
 */
export function createTokenVault(
  rotate: Rotation,
  onChange: (kept?: Kept) => void,
  kept: KeptTokens = notKept,
) {
  let pair: TokenPair | undefined
  let spentRefreshToken: string | undefined
  let rotating: Promise<Reply<TokenPair> | undefined> | undefined

  /** Takes over a pair from another page, or from this one before a reload. */
  function take(next: Kept | undefined): void {
    if (pair) spentRefreshToken = pair.refreshToken
    pair = next?.pair
    onChange(next)
  }

  async function put(pair: TokenPair | undefined): Promise<void> {
    const next = pair && { pair, receivedAt: Date.now() }
    take(next)
    await kept.keep(next)
  }

  /** `spent` was the pair when the refresh was requested. Another page may have refreshed it meanwhile. */
  async function rotateOnce(spent: TokenPair): Promise<Reply<TokenPair> | undefined> {
    const current = await kept.read()
    if (pair === spent && current && current.pair.refreshToken !== spent.refreshToken) take(current)
    if (pair !== spent) return pair && RENEWED_ELSEWHERE
    const reply = await rotate(spent.refreshToken)
    // A sign-in or logout in the meantime wins.
    if (reply.ok && pair === spent) await put(reply.body)
    return reply
  }

  /** A refresh token works once, so concurrent callers share one request, and pages take turns. */
  async function rotation(): Promise<Reply<TokenPair> | undefined> {
    const spent = pair
    if (!spent) return undefined
    rotating ??= kept
      .withLock(() => rotateOnce(spent))
      .finally(() => {
        rotating = undefined
      })
    return rotating
  }

  async function refresh(): Promise<boolean> {
    return (await rotation())?.ok ?? false
  }

  /** Logs out; if the access token had expired, refreshes and tries once more. */
  async function end(logOut: Logout): Promise<Reply | undefined> {
    const reply = await endOnce(logOut)
    if (reply?.status !== 401) return reply
    const renewal = await rotation()
    if (renewal?.ok) return endOnce(logOut)
    if (renewal?.status === 401) await put(undefined)
    return reply
  }

  /**
   * Discards the pair only when the service has ended its session. The service ends nothing for a
   * token that a refresh has replaced, so a logout that overlapped a refresh is sent again.
   */
  async function endOnce(logOut: Logout): Promise<Reply | undefined> {
    await rotating
    const named = pair
    if (!named) return undefined
    const reply = await logOut(named.refreshToken)
    if (rotating || pair !== named) return endOnce(logOut)
    if (reply.ok) await put(undefined)
    return reply
  }

  return {
    put,
    take,
    refresh,
    end,
    accessToken: () => pair?.accessToken,
    spentRefreshToken: () => spentRefreshToken,
  }
}
