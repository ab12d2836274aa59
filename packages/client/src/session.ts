import { ProblemError } from './problem-error.ts'
import { type Call, jsonOf, nothingOf, type Send } from './request.ts'
import { type CallWith, type TokenPair, withToken } from './token-pair.ts'

/**
 * Keeps the token pair of one signed-in user and sends requests with it. Refresh tokens work only
 * once, so of many requests that find the access token expired one refreshes and the others wait.
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

  /** The pair, to keep it where the application wants; nothing is stored here. */
  get pair(): TokenPair | undefined {
    return this.#pair
  }

  set pair(pair: TokenPair | undefined) {
    this.#pair = pair
  }

  /**
   * Sends with the access token; once more with a new one when it had expired. A call that names
   * a token is a function of the pair, because the second time it has to name the new one.
   */
  async send(method: string, path: string, call: Call | CallWith = {}): Promise<Response> {
    const used = this.#pair
    try {
      return await this.#send(method, path, withToken(call, used))
    } catch (error) {
      if (!used || !isExpired(error)) throw error
    }
    // The pair of the same user: somebody else may sign in meanwhile.
    const pair = this.#pair === used ? await this.refresh() : this.#pair
    return this.#send(method, path, withToken(call, pair))
  }

  /**
   * Ends the session at the service, and only then forgets its tokens. The service ends nothing
   * for a token that a refresh has replaced, so a logout that met a refresh is sent again.
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

  /** Trades the refresh token for a new pair. Parallel calls share one trade. */
  refresh(): Promise<TokenPair> {
    this.#refreshing ??= this.#trade().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #trade(): Promise<TokenPair> {
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

  /** Whoever signed in or out during a refresh has the last word. */
  #replace(spent: TokenPair | undefined, next: TokenPair | undefined): void {
    if (this.#pair === spent) this.#pair = next
  }
}

function isExpired(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 401
}
