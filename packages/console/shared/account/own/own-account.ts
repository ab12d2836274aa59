import type {
  AccountSecurity,
  Grant,
  IdentityApi,
  Passkey,
  Profile,
  RecoveryCodesLeft,
  ScheduledDeletion,
  TotpEnrolment,
  UserSession,
} from '@plinth/client'
import type { Api } from '../../api/api.ts'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { saveFile } from '../../files/save-file.ts'

// What users do with their own account, as calls.

type Values = Record<string, string>
type ShowsCodes = { onCodes(codes: string[]): void }

const TOTP = '/api/users/me/totp'
const CODES = '/api/users/me/recovery-codes'

/** Below that, a user should make new ones. */
export const FEW_CODES = 3

/** Who the user is and how the account is secured, once both are known. */
export function useOwnAccount(api: Api) {
  const profile = useLoad<Profile>(() => api.get('/api/users/me'))
  const security = useLoad<AccountSecurity>(() => api.get('/api/users/me/security'))
  return {
    loading: profile.loading || security.loading,
    body: profile.body && security.body && { ...profile.body, ...security.body },
    refusal: profile.refusal ?? security.refusal,
    reload: () => Promise.all([profile.reload(), security.reload()]),
  }
}

/** `version` changes when sessions may have ended, so that the list is reloaded. */
export function useOwnSessions(api: Api, version: number) {
  const sessions = useLoad<UserSession[]>(() => api.get('/api/users/me/sessions'), [version])
  const end = useAction(async (id: number) => {
    const reply = await api.delete(`/api/users/me/sessions/${id}`)
    // The session has already ended by itself: treat it as ended.
    return reply.status === 404 ? undefined : reply
  }, sessions.reload)
  return { sessions, end }
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
    ({ code = '' }: Values) => api.delete(TOTP, { json: codeOf(code) }),
    (reply) => reply?.ok && props.onRemoved(),
  )
  return { left, renew, remove }
}

/** `version` changes when a passkey is added. */
export function useOwnPasskeys(api: Api, version: number) {
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

/** The applications that a user has given access, by their client. */
export function useGrants(api: Api, path: string, silent = false) {
  const grants = useLoad<Grant[]>(() => api.get(path, { silent }), [path])
  const revoke = useAction(
    (clientId: string) => api.delete(`${path}/${encodeURIComponent(clientId)}`),
    grants.reload,
  )
  const rows = grants.body?.map((grant) => ({ ...grant, id: grant.client.clientId }))
  return { grants: { ...grants, body: rows }, revoke }
}

/** A fresh proof by password, and by code where there is a second factor. */
export function useProof(api: Api, proved: () => unknown) {
  return useAction(
    ({ code = '', ...password }: Values) => {
      const given = code.trim() !== '' && codeOf(code)
      return api.post('/api/auth/reauthenticate', { ...password, ...given })
    },
    (reply) => reply?.ok && proved(),
  )
}

/** An authenticator code has digits only; a recovery code has letters. */
function codeOf(text: string) {
  return /[a-z]/i.test(text) ? { recoveryCode: text } : { code: text }
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
