import { jsonOf, nothingOf, type Send } from './request.ts'
import { Session, type TokenPair } from './session.ts'

export type Profile = {
  id: number
  username: string
  email: string
  roles: string[]
  enabled: boolean
}

export type UserSummary = Profile & { createdAt: string }

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

export type PageQuery = { page?: number; size?: number; sort?: string[] }

export type Registration = { username: string; email: string; password: string }

/** The account calls that identity and the full storage edition share. */
export function accountCalls(send: Send, session = new Session(send)) {
  const calling: Send = (method, path, call) => session.send(method, path, call)
  return {
    session,
    register: (json: Registration) =>
      jsonOf<Profile & { message: string }>(send('POST', '/api/auth/register', { json })),

    logIn: async (username: string, password: string): Promise<TokenPair> => {
      const json = { username, password }
      const pair = await jsonOf<TokenPair>(send('POST', '/api/auth/login', { json }))
      session.pair = pair
      return pair
    },

    refresh: () => session.refresh(),

    logOut: () => session.end(),

    me: () => jsonOf<Profile>(calling('GET', '/api/users/me')),

    users: (query: PageQuery = {}) =>
      jsonOf<Page<UserSummary>>(calling('GET', '/api/users', { query })),

    updateUser: (id: number, json: { enabled?: boolean; roles?: string[] }) =>
      jsonOf<UserSummary>(calling('PATCH', `/api/users/${id}`, { json })),

    sessions: () => jsonOf<OwnSession[]>(calling('GET', '/api/users/me/sessions')),

    endSession: (id: number) => nothingOf(calling('DELETE', `/api/users/me/sessions/${id}`)),

    changePassword: (currentPassword: string, newPassword: string) => {
      const json = { currentPassword, newPassword }
      return nothingOf(calling('POST', '/api/users/me/password', { json }))
    },
  }
}
