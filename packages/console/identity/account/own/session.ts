import { signal } from '@preact/signals'
import { createSession } from '../../../shared/account/session/session.ts'
import type { Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'

export const session = createSession({ renewsItself: true })

/** Set while the page asks the user to reauthenticate; called with whether that succeeded. */
export const proving = signal<((proved: boolean) => void) | undefined>(undefined)

/** An action that reauthenticates when the service requires it, and then continues. */
export function useOwnAction<Arguments extends unknown[]>(
  call: (...values: Arguments) => Promise<Reply>,
  after?: (reply: Reply | undefined) => unknown,
) {
  return useAction(async (...values: Arguments) => {
    const reply = await call(...values)
    if (reply.body?.code !== 'REAUTHENTICATION_REQUIRED') return reply
    const { promise, resolve } = Promise.withResolvers<boolean>()
    proving.value = resolve
    const proved = await promise
    proving.value = undefined
    return proved ? call(...values) : undefined
  }, after)
}

/** The header that every call of a passkey ceremony must send. */
export async function csrfHeader(): Promise<Record<string, string>> {
  const { ok, body } = await session.api.get('/webauthn/csrf', { open: true })
  return ok ? { [body.headerName]: body.token } : {}
}

/** The assertion of the user's passkey and the header to send it with; undefined if there is none. */
export async function askPasskey() {
  const open = { open: true }
  const headers = await csrfHeader()
  const path = '/webauthn/authenticate/options'
  const options = await session.api.post(path, undefined, { ...open, headers })
  if (!options.ok) return undefined
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.body)
  const credential = await navigator.credentials.get({ publicKey }).catch(() => null)
  return credential ? { headers, passkey: (credential as PublicKeyCredential).toJSON() } : undefined
}
