import { type CallOptions, withOptions } from '../http/calls.ts'
import { isUnauthorized } from '../http/errors.ts'
import { type Call, jsonOf, nothingOf, type Send } from '../http/request.ts'
import { memoryStore, type TokenPair, type TokenStore } from './stores.ts'
import { inTurn, isSame, pairOfOtherTab } from './turns.ts'

export type SessionOptions = {
  /** In memory by default. */
  store?: TokenStore | undefined
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined
}

/** A call that contains a token of the pair it is sent with. */
type CallWith = (pair: TokenPair | undefined) => Call

const EARLY_MS = 60_000
const REFRESH_TIMEOUT_MS = 10_000
const COOL_DOWN_MS = 10_000

/** Time of day that does not jump when the system clock is set. */
const steadyNow = () => performance.timeOrigin + performance.now()

/**
 * Sends requests with the token pair of one user. A refresh token works only once: when many requests,
 * tabs and workers find the access token expired, one of them refreshes and the others wait.
 */
export class Session {
  readonly #send: Send
  readonly #store: TokenStore
  readonly #now: () => number
  readonly #service: string
  readonly #listeners = new Set<(pair: TokenPair | undefined) => void>()
  readonly #unsubscribe: (() => void) | undefined
  #refreshing: Promise<TokenPair> | undefined
  #noEarlyRefreshUntil = 0

  constructor(
    send: Send,
    { store = memoryStore(), now = steadyNow }: SessionOptions = {},
    service = '',
  ) {
    this.#send = send
    this.#store = store
    this.#now = now
    this.#service = service
    this.#unsubscribe = store.subscribe?.(() => this.#notify())
  }

  /** Whether there is a token pair; it may have expired. */
  get signedIn(): boolean {
    return this.#store.get() !== undefined
  }

  get pair(): TokenPair | undefined {
    return this.#store.get()
  }

  /**
   * Signs in with a token pair from elsewhere.
   * @example
   * identity.session.adopt(pair)
   */
  adopt(pair: TokenPair): void {
    this.#keep(pair)
    this.#notify()
  }

  /**
   * Forgets the token pair without ending the session at the service.
   * @example
   * identity.session.forget()
   */
  forget(): void {
    this.#keep(undefined)
    this.#notify()
  }

  /**
   * Calls back after a login, refresh or logout, here or in another tab. Returns a function to unsubscribe.
   * @example
   * const unsubscribe = identity.session.onChange((pair) => console.log(pair ? 'signed in' : 'signed out'))
   */
  onChange(listener: (pair: TokenPair | undefined) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Stops all callbacks. The tokens stay in the store.
   * @example
   * identity.session.dispose()
   */
  dispose(): void {
    this.#listeners.clear()
    this.#unsubscribe?.()
  }

  /**
   * For requests to other services; refreshed first if it is about to expire.
   * @example
   * const payments = paymentsClient(url, { accessToken: () => identity.session.accessToken() })
   */
  async accessToken(): Promise<string | undefined> {
    return (await this.#current(EARLY_MS))?.accessToken
  }

  /**
   * Sends with the access token, and again with a new one if it had expired. A call that contains a
   * token is a function of the pair, because the second time it must contain the new one.
   * @example
   * const response = await identity.session.send('GET', '/api/users/me')
   */
  async send(
    method: string,
    path: string,
    call: Call | CallWith = {},
    /** The token must last at least this long when the call starts. */
    lastsMs: number = EARLY_MS,
  ): Promise<Response> {
    const used = await this.#current(lastsMs)
    try {
      return await this.#send(method, path, withToken(call, used))
    } catch (error) {
      if (!used || !isUnauthorized(error)) throw error
    }
    // Another login or another tab may have replaced the pair in the meantime.
    const stored = this.#store.get()
    const pair = isSame(stored, used) ? await this.refresh() : stored
    return this.#send(method, path, withToken(call, pair))
  }

  /**
   * Ends the session at the service, and only then forgets its tokens. A logout during a refresh
   * sends a replaced token, which ends nothing, so it is sent again.
   * @example
   * await identity.session.end()
   */
  async end(options?: CallOptions): Promise<void> {
    await this.#refreshing?.catch(() => {})
    if (!this.#store.get()) return
    let named: TokenPair | undefined
    const logout: CallWith = (pair) => {
      named = pair
      return withOptions({ json: { refreshToken: pair?.refreshToken } }, options)
    }
    try {
      await nothingOf(this.send('POST', '/api/auth/logout', logout, 0))
    } catch (error) {
      // The session was ended elsewhere, and the refused refresh has forgotten its tokens.
      if (!isUnauthorized(error) || this.signedIn) throw error
    }
    if (this.#refreshing || !isSame(this.#store.get(), named)) return this.end(options)
    this.forget()
  }

  /**
   * Ends one of the user's sessions. If it is this one and the reply is lost, the repeated call is refused, and so
   * is the refresh: the session is over, as asked.
   * @example
   * await identity.session.endOne(7)
   */
  async endOne(id: number, options?: CallOptions): Promise<void> {
    const isOwn = sessionIdOf(this.#store.get()) === String(id)
    try {
      await nothingOf(this.send('DELETE', `/api/users/me/sessions/${id}`, withOptions({}, options)))
    } catch (error) {
      if (!isOwn || !isUnauthorized(error) || this.signedIn) throw error
    }
  }

  /**
   * Exchanges the refresh token for a new pair. Parallel calls share one exchange, which therefore takes no
   * options: cancelled in the middle, it would lose the new pair.
   * @example
   * const { accessToken } = await identity.session.refresh()
   */
  refresh(): Promise<TokenPair> {
    this.#refreshing ??= this.#refreshInTurn().finally(() => {
      this.#refreshing = undefined
      this.#notify()
    })
    return this.#refreshing
  }

  async #refreshInTurn(): Promise<TokenPair> {
    const spent = this.#store.get()
    const shared = { store: this.#store, spent, service: this.#service }
    return inTurn(shared, () => this.#exchange(spent))
  }

  async #exchange(spent: TokenPair | undefined): Promise<TokenPair> {
    const json = { refreshToken: spent?.refreshToken ?? '' }
    try {
      const call = { json, timeoutMs: REFRESH_TIMEOUT_MS }
      const next = await jsonOf<TokenPair>(this.#send('POST', '/api/auth/refresh', call))
      // A login or logout during the refresh takes precedence.
      const stored = this.#store.get()
      if (isSame(stored, spent)) this.#keep(next)
      else if (!stored) await this.#revoke(next)
      return next
    } catch (error) {
      // After any other error the session may still be valid.
      if (!isUnauthorized(error)) throw error
      const stored = await pairOfOtherTab(this.#store, spent)
      if (stored) return stored
      if (isSame(this.#store.get(), spent)) this.#keep(undefined)
      throw error
    }
  }

  async #revoke(pair: TokenPair): Promise<void> {
    const call = withToken({ json: { refreshToken: pair.refreshToken } }, pair)
    await this.#send('POST', '/api/auth/logout', call).catch(() => {})
  }

  /** The pair to send with. If an early refresh fails, the old token may still work. */
  async #current(lastsMs: number): Promise<TokenPair | undefined> {
    const pair = this.#store.get()
    if (!pair || this.#lastsFor(pair) > Math.min(lastsMs, pair.expiresInSeconds * 500)) return pair
    if (this.#now() < this.#noEarlyRefreshUntil) return pair
    try {
      return await this.refresh()
    } catch (error) {
      if (isUnauthorized(error)) throw error
      this.#noEarlyRefreshUntil = this.#now() + COOL_DOWN_MS
      return this.#store.get()
    }
  }

  #lastsFor({ receivedAt = 0, expiresInSeconds }: TokenPair): number {
    const age = Math.max(0, this.#now() - receivedAt)
    return expiresInSeconds * 1000 - age
  }

  #keep(pair: TokenPair | undefined): void {
    if (pair) this.#store.set({ receivedAt: this.#now(), ...pair })
    else this.#store.clear()
  }

  #notify(): void {
    const pair = this.#store.get()
    for (const listener of this.#listeners)
      try {
        listener(pair)
      } catch (error) {
        // The pair is stored anyway, and the other listeners must still be called.
        console.error(error)
      }
  }
}

/** As the access token names it; undefined for a token of another kind. */
function sessionIdOf(pair: TokenPair | undefined): string | undefined {
  const [, claims = ''] = pair?.accessToken.split('.') ?? []
  try {
    return JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))).sid
  } catch {
    return undefined
  }
}

function withToken(given: Call | CallWith, pair: TokenPair | undefined): Call {
  const call = typeof given === 'function' ? given(pair) : given
  if (!pair) return call
  return { ...call, headers: { ...call.headers, authorization: `Bearer ${pair.accessToken}` } }
}
