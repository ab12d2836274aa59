import type {
  AccountSecurity,
  IdentityApi,
  Passkey,
  RecoveryCodesLeft,
  ScheduledDeletion,
  TotpEnrolment,
} from '@plinth/client'
import type { Api } from '../shared/api/api.ts'
import { useAction, useLoad } from '../shared/api/use-reply.ts'
import { saveFile } from '../shared/files/save-file.ts'

// What users do with their own account. The account pages and the console show it in their own words.

type Values = Record<string, string>
type ShowsCodes = { onCodes(codes: string[]): void }

const TOTP = '/api/users/me/totp'
const CODES = '/api/users/me/recovery-codes'

/** Below that, a user should make new ones. */
export const FEW_CODES = 3

export function useSecurity(api: Api) {
  return useLoad<AccountSecurity>(() => api.get('/api/users/me/security'))
}

/** Setting up an authenticator: `begun` is what it scans. */
export function useEnrolment(api: Api, { onCodes }: ShowsCodes) {
  const enrol = useAction(() => api.post<TotpEnrolment>(TOTP))
  const confirm = useAction(
    (values: Values) => api.post<IdentityApi.RecoveryCodes>(`${TOTP}/confirm`, values),
    (reply) => reply?.ok && onCodes(reply.body.recoveryCodes),
  )
  return { enrol, confirm, begun: enrol.reply?.ok ? enrol.reply.body : undefined }
}

/** Users who did not save the codes are locked out by the first lost phone, so they must type one back. */
export function useTypeBack(api: Api, onKept: () => void) {
  return useAction(
    (values: Values) => api.post(`${CODES}/check`, values),
    (reply) => reply?.ok && onKept(),
  )
}

/** What can be done with a second factor that is on. */
export function useActiveFactor(api: Api, props: ShowsCodes & { onRemoved(): void }) {
  const left = useLoad<RecoveryCodesLeft>(() => api.get(CODES))
  const renew = useAction(
    (values: Values) => api.post<IdentityApi.RecoveryCodes>(CODES, values),
    (reply) => reply?.ok && props.onCodes(reply.body.recoveryCodes),
  )
  const remove = useAction(
    ({ code = '' }: Values) => {
      const json = /[a-z]/i.test(code) ? { recoveryCode: code } : { code }
      return api.delete(TOTP, { json })
    },
    (reply) => reply?.ok && props.onRemoved(),
  )
  return { left, renew, remove }
}

/** `version` changes when a passkey is added, so that the list is reloaded. */
export function useOwnPasskeys(api: Api, version = 0) {
  const passkeys = useLoad<Passkey[]>(() => api.get('/api/users/me/passkeys'), [version])
  const remove = useAction(async (id: string) => {
    const headers = await csrfHeader(api)
    const reply = await api.delete(`/webauthn/register/${encodeURIComponent(id)}`, { headers })
    if (reply.ok) forgetOnDevice(id)
    return reply
  }, passkeys.reload)
  return { passkeys, remove }
}

/** The header that every call of a passkey ceremony must send. */
export async function csrfHeader(api: Api): Promise<Record<string, string>> {
  const reply = await api.get<IdentityApi.CsrfToken>('/webauthn/csrf', { open: true })
  return reply.ok ? { [reply.body.headerName]: reply.body.token } : {}
}

// Asks the password manager to forget the key; not every browser supports this.
function forgetOnDevice(credentialId: string): void {
  if (typeof PublicKeyCredential === 'undefined') return
  const known = { rpId: location.hostname, credentialId }
  // The key is gone at the service whether or not the password manager forgets it.
  PublicKeyCredential.signalUnknownCredential?.(known)?.catch(() => {})
}

/** Exporting everything that is kept about the user, and deleting the account. */
export function useOwnData(api: Api, onErased: (at: string) => void) {
  const take = useAction(
    () => api.post('/api/users/me/export/file'),
    (reply) => reply?.ok && saveFile(reply.content, 'my-data.json'),
  )
  const erase = useAction(
    () => api.delete<ScheduledDeletion>('/api/users/me'),
    (reply) => reply?.ok && onErased(reply.body.deletesAt),
  )
  return { take, erase }
}
