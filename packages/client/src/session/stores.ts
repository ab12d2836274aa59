import type { TokenPair as IssuedPair } from '../generated/identity.ts'

export type TokenPair = IssuedPair & {
  /** When the client got it, in milliseconds since 1970; set by the session. */
  receivedAt?: number
}

/** Where a session keeps its token pair. Synchronous, so that nothing happens between two calls. */
export type TokenStore = {
  get(): TokenPair | undefined
  set(pair: TokenPair): void
  clear(): void
  /** Calls back when another tab or worker has changed the pair. Returns a function to unsubscribe. */
  subscribe?(listener: () => void): () => void
  /** The name of a store that several tabs or workers share. They refresh one at a time. */
  readonly sharedAs?: string
}

/**
 * For one process or tab: signed out when it ends.
 * @example
 * const identity = identityClient(url, { store: memoryStore() })
 */
export function memoryStore(): TokenStore {
  let kept: TokenPair | undefined
  return {
    get: () => kept,
    set: (pair) => {
      kept = pair
    },
    clear: () => {
      kept = undefined
    },
  }
}

type WebStorage = {
  getItem(name: string): string | null
  setItem(name: string, value: string): void
  removeItem(name: string): void
}
type StorageEvents = {
  addEventListener?(type: 'storage', listener: (event: { key: string | null }) => void): void
  removeEventListener?(type: 'storage', listener: (event: { key: string | null }) => void): void
}

/**
 * Keeps the pair in `localStorage`: all tabs of the origin share it, and every script on the page can
 * read it.
 * @example
 * const identity = identityClient(url, { store: webStore('shop.session') })
 */
export function webStore(
  name = 'plinth.session',
  storage: WebStorage = (globalThis as unknown as { localStorage: WebStorage }).localStorage,
): TokenStore {
  return {
    sharedAs: name,
    get: () => parsed(storage.getItem(name)),
    set: (pair) => storage.setItem(name, JSON.stringify(pair)),
    clear: () => storage.removeItem(name),
    subscribe: (listener) => {
      const events = globalThis as StorageEvents
      // A key of null means that everything was cleared.
      const changed = ({ key }: { key: string | null }) => {
        if (key === name || key === null) listener()
      }
      events.addEventListener?.('storage', changed)
      return () => events.removeEventListener?.('storage', changed)
    },
  }
}

export type CookieAttributes = {
  httpOnly: true
  secure: boolean
  sameSite: 'lax'
  path: string
  /** In seconds. */
  maxAge: number
}

/** The cookies of one request and of its response, in terms of your framework. */
export type CookieJar = {
  get(name: string): string | undefined
  set(name: string, value: string, attributes: CookieAttributes): void
}

/**
 * Keeps the pair in a cookie that scripts cannot read, for servers that render pages. Create one for
 * each request. Only one place may refresh: if a page is rendered in parts, refresh before them.
 * @example
 * const identity = identityClient(url, { store: cookieStore(jar) })
 */
export function cookieStore(
  jar: CookieJar,
  { name = 'plinth_session', secure = true }: { name?: string; secure?: boolean } = {},
): TokenStore {
  let kept = parsed(jar.get(name))
  const write = (value: string, maxAge: number) =>
    jar.set(name, value, { httpOnly: true, secure, sameSite: 'lax', path: '/', maxAge })
  return {
    get: () => kept,
    set: (pair) => {
      kept = pair
      write(encodeURIComponent(JSON.stringify(pair)), pair.refreshTokenExpiresInSeconds)
    },
    clear: () => {
      kept = undefined
      write('', 0)
    },
  }
}

/** Ignores an incomplete pair, and anything that other code has written there. */
function parsed(text: string | null | undefined): TokenPair | undefined {
  if (!text) return undefined
  try {
    const value = JSON.parse(text.startsWith('%') ? decodeURIComponent(text) : text)
    const isPair = typeof value?.accessToken === 'string' && typeof value.refreshToken === 'string'
    return isPair ? value : undefined
  } catch {
    return undefined
  }
}
