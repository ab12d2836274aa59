import type {
  PageOfUsers,
  Profile,
  Queries,
  Registration,
  Replies,
  User,
  UserChange,
  UserDetails,
  Session as UserSession,
} from './generated/storage-full.ts'
import { type CallOptions, type Calls, callsOf } from './http/calls.ts'
import { type Listing, pages } from './http/listing.ts'
import { type ClientOptions, sender } from './http/request.ts'
import { Session, type SessionOptions } from './session/session.ts'
import type { TokenPair } from './session/stores.ts'

export type AccountsOptions = ClientOptions & SessionOptions
export type AuditQuery = Queries['GET /api/audit']
export type UserQuery = Queries['GET /api/users']

/** A session at a service: `calls` are sent with its access token, `open` ones without. */
export type OpenSession<Replies> = { open: Calls<Replies>; calls: Calls<Replies>; session: Session }

export function openSession<Replies>(
  baseUrl: string,
  options: AccountsOptions = {},
): OpenSession<Replies> {
  const send = sender(baseUrl, options)
  const session = new Session(send, options, baseUrl)
  const calls = callsOf<Replies>((method, path, call) =>
    session.send(method, path, call, call?.lastsMs),
  )
  return { open: callsOf(send), calls, session }
}

type Operation = Extract<keyof Replies, `${string} /api/${'auth' | 'users'}${string}`>

/** Identity may hold a registration until the address is confirmed. */
type AccountReplies = Omit<Pick<Replies, Operation>, 'POST /api/auth/register'> & {
  'POST /api/auth/register': { message: string } & Partial<Profile>
}

/** Signing in and out, at identity and at the full storage edition. */
export class SignIn {
  readonly session: Session
  readonly #open: Calls<AccountReplies>

  constructor({ open, session }: Pick<OpenSession<AccountReplies>, 'open' | 'session'>) {
    this.session = session
    this.#open = open
  }

  /**
   * If the address has to be confirmed first, the reply has only the message.
   * @example
   * await identity.register({ username: 'ada', email: 'ada@example.com', password: 'correct horse battery' })
   */
  register(
    registration: Registration,
    options?: CallOptions,
  ): Promise<{ message: string } & Partial<Profile>> {
    return this.#open.json('POST /api/auth/register', { json: registration }, options)
  }

  /**
   * @example
   * await identity.logIn('ada', 'correct horse battery')
   */
  async logIn(username: string, password: string, options?: CallOptions): Promise<TokenPair> {
    const json = { username, password }
    const pair = await this.#open.json('POST /api/auth/login', { json }, options)
    this.session.adopt(pair)
    return pair
  }

  /**
   * Ends the session at the service and forgets its tokens.
   * @example
   * await identity.logOut()
   */
  logOut(options?: CallOptions): Promise<void> {
    return this.session.end(options)
  }
}

/** The account of the user who is signed in. */
export class OwnAccount {
  readonly #calls: Calls<AccountReplies>

  constructor({ calls }: Pick<OpenSession<AccountReplies>, 'calls'>) {
    this.#calls = calls
  }

  /**
   * @example
   * const { username, roles } = await identity.account.get()
   */
  get(options?: CallOptions): Promise<Profile> {
    return this.#calls.json('GET /api/users/me', {}, options)
  }

  /**
   * @example
   * await identity.account.changePassword('correct horse battery', 'staple correct horse')
   */
  changePassword(
    currentPassword: string,
    newPassword: string,
    options?: CallOptions,
  ): Promise<void> {
    const json = { currentPassword, newPassword }
    return this.#calls.nothing('POST /api/users/me/password', { json }, options)
  }
}

/** The sessions of the user who is signed in. */
export class Sessions {
  readonly #opened: OpenSession<AccountReplies>

  constructor(opened: OpenSession<AccountReplies>) {
    this.#opened = opened
  }

  /**
   * @example
   * const sessions = await identity.sessions.list()
   */
  list(options?: CallOptions): Promise<UserSession[]> {
    return this.#opened.calls.json('GET /api/users/me/sessions', {}, options)
  }

  /**
   * @example
   * for (const { id, current } of await identity.sessions.list()) if (!current) await identity.sessions.end(id)
   */
  end(id: number, options?: CallOptions): Promise<void> {
    return this.#opened.session.endOne(id, options)
  }
}

/** All users. For administrators; a reason is recorded in the audit. */
export class Users {
  readonly #calls: Calls<AccountReplies>

  constructor({ calls }: Pick<OpenSession<AccountReplies>, 'calls'>) {
    this.#calls = calls
  }

  /**
   * Only a search has `next`; it takes no `page` and no `sort`, and its totals are counted up to 10,000.
   * @example
   * for await (const user of identity.users.list({ role: 'ROLE_ADMIN' })) console.log(user.email)
   */
  list(query?: UserQuery, options?: CallOptions): Listing<PageOfUsers, User> {
    return pages((next) =>
      this.#calls.json('GET /api/users', { query: { ...query, ...next } }, options),
    )
  }

  /**
   * @example
   * const { emailVerified } = await identity.users.get(7)
   */
  get(id: number, options?: CallOptions): Promise<UserDetails> {
    return this.#calls.json('GET /api/users/{id}', { path: { id } }, options)
  }

  /**
   * @example
   * await identity.users.update(7, { enabled: false, reason: 'left the company' })
   */
  update(id: number, change: UserChange, options?: CallOptions): Promise<User> {
    return this.#calls.json('PATCH /api/users/{id}', { path: { id }, json: change }, options)
  }

  /**
   * @example
   * const sessions = await identity.users.sessions(7)
   */
  sessions(id: number, options?: CallOptions): Promise<UserSession[]> {
    return this.#calls.json('GET /api/users/{id}/sessions', { path: { id } }, options)
  }

  /**
   * @example
   * await identity.users.endSessions(7, 'lost laptop')
   */
  endSessions(id: number, reason: string, options?: CallOptions): Promise<void> {
    const call = { path: { id }, json: { reason } }
    return this.#calls.nothing('DELETE /api/users/{id}/sessions', call, options)
  }

  /**
   * @example
   * await identity.users.endSession(7, 12, 'lost laptop')
   */
  endSession(id: number, sessionId: number, reason: string, options?: CallOptions): Promise<void> {
    const call = { path: { id, sessionId }, json: { reason } }
    return this.#calls.nothing('DELETE /api/users/{id}/sessions/{sessionId}', call, options)
  }
}
