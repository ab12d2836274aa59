import { type ClientOptions, jsonOf, nothingOf, type Send, sender } from './http/request.ts'
import { Session, type SessionOptions } from './session/session.ts'
import type { TokenPair } from './session/stores.ts'

export type AccountsOptions = ClientOptions & SessionOptions

export type Profile = {
  id: number
  username: string
  email: string
  roles: string[]
  enabled: boolean
}

export type UserSummary = Profile & { createdAt: string }

/** What an administrator sees of one user. */
export type UserDetails = UserSummary & {
  emailVerified: boolean
  passwordChangeRequired: boolean
  secondFactor: boolean
  /** The day of the last sign-in or refresh; null if there was none. */
  lastSeenOn: string | null
  /** When the account will be erased; null unless its deletion was requested. */
  deletesAt: string | null
  deletionBy: 'user' | 'administrator' | null
}

export type OwnSession = {
  id: number
  createdAt: string
  lastUsedAt: string
  address: string
  userAgent: string | null
  current: boolean
}

export type Page<T> = {
  content: T[]
  totalElements: number
  totalPages: number
  number: number
  size: number
  first: boolean
  last: boolean
  empty: boolean
}

export type PageQuery = {
  page?: number | undefined
  size?: number | undefined
  sort?: string[] | undefined
}

/** `after: next` gets the next page of a search, which takes no `page` and no `sort`. */
export type UserQuery = PageQuery & {
  /** The beginning of the username or of the e-mail address. */
  q?: string | undefined
  role?: string | undefined
  enabled?: boolean | undefined
  verified?: boolean | undefined
  createdFrom?: string | undefined
  createdTo?: string | undefined
  /** Whether a sign-in needs a second factor. */
  mfa?: boolean | undefined
  /** Days such as `2030-01-01`; a user who was never seen counts as before all of them. */
  lastSeenFrom?: string | undefined
  lastSeenTo?: string | undefined
  after?: string | undefined
}

/** Only a search has `next`; its totals are counted up to 10,000. */
export type UserPage = Page<UserSummary> & { next?: string | null }

export type AuditQuery = PageQuery & {
  /** Who did it, or to whom it was done. */
  user?: string | undefined
  event?: string | undefined
}

/** Why an administrator does it; recorded in the audit. */
export type Reason = { reason?: string | undefined }

export type Registration = { username: string; email: string; password: string }

export type AuditEvent = {
  id: number
  at: string
  event: string
  actor: string | null
  subject: string | null
  address: string | null
  result: string
  requestId: string | null
  /** Why an administrator did it. */
  reason?: string
}

/** Public keys to verify access tokens with (RFC 7517). */
export type JsonWebKeys = { keys: Record<string, string>[] }

/** The account calls that identity and the full storage edition share. */
export type AccountCalls = {
  readonly session: Session
  /** If the address has to be confirmed first, the reply has only the message. */
  register(registration: Registration): Promise<{ message: string } & Partial<Profile>>
  logIn(username: string, password: string): Promise<TokenPair>
  refresh(): Promise<TokenPair>
  logOut(): Promise<void>
  me(): Promise<Profile>
  changePassword(currentPassword: string, newPassword: string): Promise<void>
  sessions(): Promise<OwnSession[]>
  endSession(id: number): Promise<void>
  users(query?: UserQuery): Promise<UserPage>
  user(id: number): Promise<UserDetails>
  updateUser(
    id: number,
    change: { enabled?: boolean | undefined; roles?: string[] | undefined } & Reason,
  ): Promise<UserSummary>
  sessionsOfUser(id: number): Promise<OwnSession[]>
  endSessionsOfUser(id: number, reason: string): Promise<void>
  endSessionOfUser(id: number, sessionId: number, reason: string): Promise<void>
  audit(query?: AuditQuery): Promise<Page<AuditEvent>>
  jwks(): Promise<JsonWebKeys>
}

/** A session at a service; `calling` sends with its access token, `send` without. */
export type OpenSession = { send: Send; calling: Send; session: Session }

export function openSession(baseUrl: string, options: AccountsOptions = {}): OpenSession {
  const send = sender(baseUrl, options)
  const session = new Session(send, options, baseUrl)
  const calling: Send = (method, path, call) => session.send(method, path, call)
  return { send, calling, session }
}

export function accountCalls({ send, calling, session }: OpenSession): AccountCalls {
  return {
    session,
    register: (json) => jsonOf(send('POST', '/api/auth/register', { json })),
    logIn: async (username, password) => {
      const json = { username, password }
      const pair = await jsonOf<TokenPair>(send('POST', '/api/auth/login', { json }))
      session.pair = pair
      return pair
    },
    refresh: () => session.refresh(),
    logOut: () => session.end(),
    me: () => jsonOf(calling('GET', '/api/users/me')),
    changePassword: (currentPassword, newPassword) => {
      const json = { currentPassword, newPassword }
      return nothingOf(calling('POST', '/api/users/me/password', { json }))
    },
    sessions: () => jsonOf(calling('GET', '/api/users/me/sessions')),
    endSession: (id) => session.endOne(id),
    users: (query) => jsonOf(calling('GET', '/api/users', { query })),
    user: (id) => jsonOf(calling('GET', `/api/users/${id}`)),
    updateUser: (id, json) => jsonOf(calling('PATCH', `/api/users/${id}`, { json })),
    sessionsOfUser: (id) => jsonOf(calling('GET', `/api/users/${id}/sessions`)),
    endSessionsOfUser: (id, reason) =>
      nothingOf(calling('DELETE', `/api/users/${id}/sessions`, { json: { reason } })),
    endSessionOfUser: (id, sessionId, reason) =>
      nothingOf(calling('DELETE', `/api/users/${id}/sessions/${sessionId}`, { json: { reason } })),
    audit: (query) => jsonOf(calling('GET', '/api/audit', { query })),
    jwks: () => jsonOf(send('GET', '/.well-known/jwks.json')),
  }
}
