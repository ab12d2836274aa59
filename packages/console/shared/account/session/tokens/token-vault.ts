import type { TokenPair } from '@plinth/client'
import type { Reply } from '../../../api/api.ts'

type Rotation = (refreshToken: string) => Promise<Reply<TokenPair>>
type Logout<Body> = (refreshToken: string) => Promise<Reply<Body>>

/**
 * Holds the tokens of one page. They live in this closure and nowhere else: no storage, no cookie, no
 * worker, no global, no signal. `onChange` gets every new pair, so that its expiry can be shown.
 */
export function createTokenVault(rotate: Rotation, onChange: (pair?: TokenPair) => void) {
  let pair: TokenPair | undefined
  let spentRefreshToken: string | undefined
  let rotating: Promise<Reply<TokenPair>> | undefined

  function put(next: TokenPair | undefined): void {
    if (pair) spentRefreshToken = pair.refreshToken
    pair = next
    onChange(next)
  }

  async function rotateOnce(spent: TokenPair): Promise<Reply<TokenPair>> {
    const reply = await rotate(spent.refreshToken)
    // A sign-in or logout in the meantime wins.
    if (reply.ok && pair === spent) put(reply.body)
    return reply
  }

  /** A refresh token works once, so concurrent callers share one request. */
  async function rotation(): Promise<Reply<TokenPair> | undefined> {
    if (!pair) return undefined
    rotating ??= rotateOnce(pair).finally(() => {
      rotating = undefined
    })
    return rotating
  }

  async function refresh(): Promise<boolean> {
    return (await rotation())?.ok ?? false
  }

  /** Logs out; if the access token had expired, refreshes and tries once more. */
  async function end<Body>(logOut: Logout<Body>): Promise<Reply<Body> | undefined> {
    const reply = await endOnce(logOut)
    if (reply?.status !== 401) return reply
    const renewal = await rotation()
    if (renewal?.ok) return endOnce(logOut)
    if (renewal?.status === 401) put(undefined)
    return reply
  }

  /**
   * Discards the pair only when the service has ended its session. The service ends nothing for a
   * token that a refresh has replaced, so a logout that overlapped a refresh is sent again.
   */
  async function endOnce<Body>(logOut: Logout<Body>): Promise<Reply<Body> | undefined> {
    await rotating
    const named = pair
    if (!named) return undefined
    const reply = await logOut(named.refreshToken)
    if (rotating || pair !== named) return endOnce(logOut)
    if (reply.ok) put(undefined)
    return reply
  }

  return {
    put,
    refresh,
    end,
    accessToken: () => pair?.accessToken,
    spentRefreshToken: () => spentRefreshToken,
  }
}
