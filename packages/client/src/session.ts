import { ProblemError } from './problem-error.ts'
import { type Call, jsonOf, nothingOf, type Send } from './request.ts'

export type TokenPair = {
  accessToken: string
  refreshToken: string
  tokenType: 'Bearer'
  expiresInSeconds: number
  refreshTokenExpiresInSeconds: number
}

/** A call that names a token of the pair it is sent with. */
type CallWith = (pair: TokenPair | undefined) => Call

/**
 * Keeps the token pair of one user and sends requests with it. A refresh token works only once, so
 * of many requests that find the access token expired one refreshes and the others wait.
 */
export class Session {
  readonly #send: Send
  #pair: TokenPair | undefined
  #refreshing: Promise<TokenPair> | undefined

  constructor(send: Send) {
    this.#send = send
  }

  get signedIn(): boolean {
    return this.#pair !== undefined
  }

  /** For the application to store; this class stores nothing. */
  get pair(): TokenPair | undefined {
    return this.#pair
  }

  set pair(pair: TokenPair | undefined) {
    this.#pair = pair
  }

  /**
   * Sends with the access token, and again with a new one if it had expired. A call that names a
   * token is a function of the pair, because the second time it must name the new one.
   */
  async send(method: string, path: string, call: Call | CallWith = {}): Promise<Response> {
    const used = this.#pair
    try {
      return await this.#send(method, path, withToken(call, used))
    } catch (error) {
      if (!used || !isExpired(error)) throw error
    }
    // Another login may have replaced the pair meanwhile.
    const pair = this.#pair === used ? await this.refresh() : this.#pair
    return this.#send(method, path, withToken(call, pair))
  }

  /**
   * Ends the session at the service, and only then forgets its tokens. A logout during a refresh
   * names a replaced token, which ends nothing, so it is sent again.
   */
  async end(): Promise<void> {
    await this.#refreshing?.catch(() => {})
    if (!this.#pair) return
    let named: TokenPair | undefined
    const logout: CallWith = (pair) => {
      named = pair
      return { json: { refreshToken: pair?.refreshToken } }
    }
    await nothingOf(this.send('POST', '/api/auth/logout', logout))
    if (this.#refreshing || this.#pair !== named) return this.end()
    this.#pair = undefined
  }

  /** Exchanges the refresh token for a new pair. Parallel calls share one exchange. */
  refresh(): Promise<TokenPair> {
    this.#refreshing ??= this.#exchange().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #exchange(): Promise<TokenPair> {
    const spent = this.#pair
    const json = { refreshToken: spent?.refreshToken ?? '' }
    try {
      const next = await jsonOf<TokenPair>(this.#send('POST', '/api/auth/refresh', { json }))
      this.#replace(spent, next)
      return next
    } catch (error) {
      if (isExpired(error)) this.#replace(spent, undefined)
      throw error
    }
  }

  /** A login or logout during the refresh takes precedence. */
  #replace(spent: TokenPair | undefined, next: TokenPair | undefined): void {
    if (this.#pair === spent) this.#pair = next
  }
}

function withToken(given: Call | CallWith, pair: TokenPair | undefined): Call {
  const call = typeof given === 'function' ? given(pair) : given
  if (!pair) return call
  return { ...call, headers: { ...call.headers, authorization: `Bearer ${pair.accessToken}` } }
}

function isExpired(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 401
}
