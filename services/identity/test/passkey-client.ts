import type { Api, ApiReply } from '@plinth/kit/testing'
import { type Algorithm, createAuthenticator, type Falsified } from './authenticator.ts'

export const ORIGIN = 'http://localhost:8081'

/** A browser with a passkey, which runs the ceremonies against a service. */
export async function startPasskeyClient(api: Api, algorithm: Algorithm = 'ES256') {
  const authenticator = createAuthenticator(ORIGIN, algorithm)
  const { body: csrf } = await api.get('/webauthn/csrf')
  const headers = { [csrf.headerName]: csrf.token as string }

  const registrationOptions = async (token: string) =>
    (await api.post('/webauthn/register/options', undefined, { token, headers })).body
  const authenticationOptions = async () =>
    (await api.post('/webauthn/authenticate/options', undefined, { headers })).body

  return {
    authenticator,
    headers,
    registrationOptions,
    authenticationOptions,

    async register(token: string, falsified: Falsified = {}, label = 'laptop'): Promise<ApiReply> {
      const credential = authenticator.create(await registrationOptions(token), falsified)
      return api.post(
        '/webauthn/register',
        { publicKey: { credential, label } },
        { token, headers },
      )
    },

    async logIn(falsified: Falsified = {}): Promise<ApiReply> {
      const credential = authenticator.get(await authenticationOptions(), falsified)
      return api.post('/login/webauthn', credential, { headers })
    },

    present: (credential: unknown) => api.post('/login/webauthn', credential, { headers }),
  }
}
