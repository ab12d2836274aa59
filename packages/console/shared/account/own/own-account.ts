import type { Grant, IdentityApi } from '@plinth/client'
import type { Api } from '../../api/api.ts'
import type { AccountReplies } from '../../api/shared-operations.ts'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { saveFile } from '../../files/save-file.ts'

// What users do with their own account, as calls.

type Values = Record<string, string>
type OfIdentity = Api<IdentityApi.Replies>
type ShowsCodes = { onCodes(codes: string[]): void }

/** Below that, a user should make new ones. */
export const FEW_CODES = 3

/** Who the user is and how the account is secured, once both are known. */
export function useOwnAccount(api: OfIdentity) {
  const profile = useLoad(() => api.get('/api/users/me'))
  const security = useLoad(() => api.get('/api/users/me/security'))
  return {
    loading: profile.loading || security.loading,
    body: profile.body && security.body && { ...profile.body, ...security.body },
    refusal: profile.refusal ?? security.refusal,
    reload: () => Promise.all([profile.reload(), security.reload()]),
  }
}

/** `version` changes when sessions may have ended, so that the list is reloaded. */
export function useOwnSessions(api: Api<AccountReplies>, version: number) {
  const sessions = useLoad(() => api.get('/api/users/me/sessions'), [version])
  const end = useAction(async (id: number) => {
    const reply = await api.delete('/api/users/me/sessions/{id}', { path: { id } })
    // The session has already ended by itself: treat it as ended.
    return reply.status === 404 ? undefined : reply
  }, sessions.reload)
  return { sessions, end }
}

/** Setting up an authenticator: `begun` is what it scans. */
export function useEnrolment(api: OfIdentity, { onCodes }: ShowsCodes) {
  const enrol = useAction(() => api.post('/api/users/me/totp'))
  const confirm = useAction(
    (values: Values) => api.post('/api/users/me/totp/confirm', { json: values }),
    (reply) => reply?.ok && onCodes(reply.body.recoveryCodes),
  )
  return { enrol, confirm, begun: enrol.reply?.ok ? enrol.reply.body : undefined }
}

/** Users who did not save the codes are locked out by the first lost phone, so they must type one back. */
export function useTypeBack(api: OfIdentity, onKept: () => void) {
  return useAction(
    (values: Values) => api.post('/api/users/me/recovery-codes/check', { json: values }),
    (reply) => reply?.ok && onKept(),
  )
}

/** What can be done with a second factor that is on. */
export function useActiveFactor(api: OfIdentity, props: ShowsCodes & { onRemoved(): void }) {
  const left = useLoad(() => api.get('/api/users/me/recovery-codes'))
  const renew = useAction(
    (values: Values) => api.post('/api/users/me/recovery-codes', { json: values }),
    (reply) => reply?.ok && props.onCodes(reply.body.recoveryCodes),
  )
  const remove = useAction(
    ({ code = '' }: Values) => api.delete('/api/users/me/totp', { json: codeOf(code) }),
    (reply) => reply?.ok && props.onRemoved(),
  )
  return { left, renew, remove }
}

/** `version` changes when a passkey is added. */
export function useOwnPasskeys(api: OfIdentity, version: number) {
  const passkeys = useLoad(() => api.get('/api/users/me/passkeys'), [version])
  const remove = useAction(async (id: string) => {
    const headers = await csrfHeader(api)
    const reply = await api.delete('/webauthn/register/{credentialId}', {
      path: { credentialId: id },
      headers,
    })
    if (reply.ok) forgetOnDevice(id)
    return reply
  }, passkeys.reload)
  return { passkeys, remove }
}

/** The header that every call of a passkey ceremony must send. */
export async function csrfHeader(api: OfIdentity): Promise<Record<string, string>> {
  const reply = await api.get('/webauthn/csrf', { open: true })
  return reply.ok ? { [reply.body.headerName]: reply.body.token } : {}
}

// Asks the password manager to forget the key; not every browser supports this.
function forgetOnDevice(credentialId: string): void {
  if (typeof PublicKeyCredential === 'undefined') return
  const known = { rpId: location.hostname, credentialId }
  // The key is gone at the service whether or not the password manager forgets it.
  PublicKeyCredential.signalUnknownCredential?.(known)?.catch(() => {})
}

/** The applications that the user has given access, by their client. */
export function useOwnGrants(api: OfIdentity) {
  const grants = useLoad(() => api.get('/api/users/me/grants'))
  const revoke = useAction(
    (clientId: string) => api.delete('/api/users/me/grants/{clientId}', { path: { clientId } }),
    grants.reload,
  )
  return { grants: { ...grants, body: grants.body?.map(byClient) }, revoke }
}

export function byClient(grant: Grant) {
  return { ...grant, id: grant.client.clientId }
}

/** A fresh proof by password, and by code where there is a second factor. */
export function useProof(api: OfIdentity, proved: () => unknown) {
  return useAction(
    ({ code = '', ...password }: Values) => {
      const given = code.trim() !== '' && codeOf(code)
      return api.post('/api/auth/reauthenticate', { json: { ...password, ...given } })
    },
    (reply) => reply?.ok && proved(),
  )
}

/** An authenticator code has digits only; a recovery code has letters. */
function codeOf(text: string) {
  return /[a-z]/i.test(text) ? { recoveryCode: text } : { code: text }
}

/** Exporting everything that is kept about the user, and deleting the account. */
export function useOwnData(api: OfIdentity, onErased: (at: string) => void) {
  const take = useAction(
    () => api.post('/api/users/me/export/file'),
    (reply) => reply?.ok && saveFile(reply.content, 'my-data.json'),
  )
  const erase = useAction(
    () => api.delete('/api/users/me'),
    (reply) => reply?.ok && onErased(reply.body.deletesAt),
  )
  return { take, erase }
}
