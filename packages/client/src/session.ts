import { ProblemError } from './problem-error.ts'
import { type Call, jsonOf, type Send } from './request.ts'

export type TokenPair = {
  accessToken: string
  refreshToken: string
  tokenType: 'Bearer'
  expiresInSeconds: number
  refreshTokenExpiresInSeconds: number
}

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

  /** Sends with the access token; once more with a new one when it had expired. */
  async send(method: string, path: string, call: Call = {}): Promise<Response> {
    const used = this.#pair
    try {
      return await this.#send(method, path, withToken(call, used))
    } catch (error) {
      if (!used || !isExpired(error)) throw error
    }
    const pair = this.#pair === used ? await this.refresh() : this.#pair
    return this.#send(method, path, withToken(call, pair))
  }

  /** Trades the refresh token for a new pair. Parallel calls share one trade. */
  refresh(): Promise<TokenPair> {
    this.#refreshing ??= this.#trade().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #trade(): Promise<TokenPair> {
    const json = { refreshToken: this.#pair?.refreshToken ?? '' }
    try {
      this.#pair = await jsonOf<TokenPair>(this.#send('POST', '/api/auth/refresh', { json }))
      return this.#pair
    } catch (error) {
      if (error instanceof ProblemError && error.status === 401) this.#pair = undefined
      throw error
    }
  }
}

function withToken(call: Call, pair: TokenPair | undefined): Call {
  if (!pair) return call
  return { ...call, headers: { ...call.headers, authorization: `Bearer ${pair.accessToken}` } }
}

function isExpired(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 401
}
