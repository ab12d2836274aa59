import { accountCalls, type Page, type PageQuery } from './accounts.ts'
import { type ClientOptions, jsonOf, nothingOf, sender } from './request.ts'
import type { TokenPair } from './session.ts'

export type Passkey = { id: string; label: string; createdAt: string; lastUsedAt: string }

export type AuditEvent = {
  id: number
  at: string
  event: string
  actor: string | null
  subject: string | null
  address: string | null
  result: string
  requestId: string | null
}

export function identityClient(baseUrl: string, options?: ClientOptions) {
  const send = sender(baseUrl, options)
  const accounts = accountCalls(send)
  const { session } = accounts

  const withCsrf = async () => {
    const { token } = await jsonOf<{ token: string }>(send('GET', '/webauthn/csrf'))
    return { headers: { 'x-xsrf-token': token } }
  }

  return {
    ...accounts,
    passkeys: () => jsonOf<Passkey[]>(session.send('GET', '/api/users/me/passkeys')),

    /** Give the result to `PublicKeyCredential.parseCreationOptionsFromJSON`. */
    passkeyCreationOptions: async () =>
      jsonOf<Record<string, unknown>>(
        session.send('POST', '/webauthn/register/options', await withCsrf()),
      ),

    addPasskey: async (credential: unknown, label: string): Promise<void> => {
      const json = { publicKey: { credential, label } }
      await nothingOf(session.send('POST', '/webauthn/register', { ...(await withCsrf()), json }))
    },

    removePasskey: async (id: string): Promise<void> => {
      const path = `/webauthn/register/${encodeURIComponent(id)}`
      await nothingOf(session.send('DELETE', path, await withCsrf()))
    },

    /** Give the result to `PublicKeyCredential.parseRequestOptionsFromJSON`. */
    passkeyRequestOptions: async () =>
      jsonOf<Record<string, unknown>>(
        send('POST', '/webauthn/authenticate/options', await withCsrf()),
      ),

    logInWithPasskey: async (credential: unknown): Promise<TokenPair> => {
      const call = { ...(await withCsrf()), json: credential }
      session.pair = await jsonOf<TokenPair>(send('POST', '/login/webauthn', call))
      return session.pair
    },

    audit: (query: PageQuery = {}) =>
      jsonOf<Page<AuditEvent>>(session.send('GET', '/api/audit', { query })),
  }
}
