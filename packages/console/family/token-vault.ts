import type { TokenPair } from '@plinth/client'
import type { Reply } from './api/api.ts'

type Rotation = (refreshToken: string) => Promise<Reply<TokenPair>>

/**
 * Holds the tokens of one page. They live in this closure and nowhere else: no storage, no cookie,
 * no global, no signal. `onChange` hears of every new pair, so that its dates can be shown.
 */
export function createTokenVault(rotate: Rotation, onChange: (pair?: TokenPair) => void) {
  let pair: TokenPair | undefined
  let spentRefreshToken: string | undefined
  let refreshing: Promise<boolean> | undefined

  function put(next: TokenPair | undefined): void {
    if (pair) spentRefreshToken = pair.refreshToken
    pair = next
    onChange(next)
  }

  async function refreshOnce(): Promise<boolean> {
    if (!pair) return false
    const reply = await rotate(pair.refreshToken)
    if (reply.ok) put(reply.body)
    return reply.ok
  }

  /** A refresh token works once, so callers that meet here share one request. */
  function refresh(): Promise<boolean> {
    refreshing ??= refreshOnce().finally(() => {
      refreshing = undefined
    })
    return refreshing
  }

  return {
    put,
    refresh,
    accessToken: () => pair?.accessToken,
    refreshToken: () => pair?.refreshToken,
    spentRefreshToken: () => spentRefreshToken,
  }
}
