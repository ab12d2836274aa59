import type { AccountSecurity, IdentityApi, RecoveryCodesLeft, TotpEnrolment } from '@plinth/client'
import type { Api } from '../shared/api/api.ts'
import { useAction, useLoad } from '../shared/api/use-reply.ts'

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
