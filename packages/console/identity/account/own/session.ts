import type { PasskeyRequestOptions } from '@plinth/client'
import { createSession } from '../../../shared/account/session/session.ts'
import { csrfHeader } from '../../own-account.ts'
import { prove } from '../../proving.ts'

export const session = createSession({ renewsItself: true, prove })

/** The assertion of the user's passkey and the header to send it with; undefined if there is none. */
export async function askPasskey() {
  const headers = await csrfHeader(session.api)
  const path = '/webauthn/authenticate/options'
  const rest = { open: true, headers }
  const options = await session.api.post<PasskeyRequestOptions>(path, undefined, rest)
  if (!options.ok) return undefined
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.body)
  const credential = await navigator.credentials.get({ publicKey }).catch(() => null)
  return credential ? { headers, passkey: (credential as PublicKeyCredential).toJSON() } : undefined
}
