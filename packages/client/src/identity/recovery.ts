import type { OpenSession, Page, PageQuery } from '../accounts.ts'
import { jsonOf, nothingOf, segmentOf } from '../http/request.ts'
import { type Health, healthAt } from '../operations.ts'
import type { TokenPair } from '../session/stores.ts'

/** The token from the link in a mail, or the address and the code. */
export type MailProof = { token: string } | { email: string; code: string }

/** The account that an unused link is for. */
export type PendingAddress = { username: string; email: string; createdAt: string }

export type Mail = {
  id: string
  kind: string
  to: string
  state: 'queued' | 'sent' | 'failed' | 'dropped'
  attempts: number
  createdAt: string
  sentAt: string | null
  lastReply: string | null
}

/** Rendered with sample details. */
export type MailTemplate = { kind: string; subject: string; text: string; html: string }

export type RenderedMail = Mail & {
  subject: string
  text: string
  html: string
  code: string | null
  link: string | null
}

/** A code from the authenticator app, or a recovery code. */
export type FactorProof = { code: string } | { recoveryCode: string }

export type FactorCalls = {
  /** Completes a log-in that was refused with `MFA_REQUIRED`, with its `mfaToken` and a code. */
  completeLogIn(mfaToken: string, proof: FactorProof): Promise<TokenPair>
  /** The passkey is what `navigator.credentials.get` returned. */
  reauthenticate(
    proof: ({ password: string } | { passkey: unknown }) & Partial<FactorProof>,
  ): Promise<void>
  enrolTotp(): Promise<{ secret: string; uri: string }>
  confirmTotp(code: string): Promise<{ recoveryCodes: string[] }>
  removeTotp(proof: FactorProof): Promise<void>
  renewRecoveryCodes(code: string): Promise<{ recoveryCodes: string[] }>
  recoveryCodesLeft(): Promise<{ remaining: number; createdAt: string | null; kept: boolean }>
  /** Proves that the user has kept the codes; does not use one up. */
  checkRecoveryCode(recoveryCode: string): Promise<void>
  /** For administrators, like the next one. */
  secondFactorOfUser(id: number): Promise<{ secondFactor: boolean; removesAt: string | null }>
  /** Takes effect after a delay; the user can cancel it by using the factor. */
  removeTotpOfUser(id: number, reason: string): Promise<{ removesAt: string }>
}

export type RecoveryCalls = {
  requestPasswordReset(email: string): Promise<{ message: string }>
  confirmPasswordReset(
    proof: MailProof & { totp?: string | undefined; recoveryCode?: string | undefined },
    newPassword: string,
  ): Promise<void>
  verifyEmail(proof: MailProof): Promise<void>
  pendingVerification(token: string): Promise<PendingAddress>
  /** Why a link does not work; a link that works is `unknown` too. */
  linkState(
    token: string,
  ): Promise<{ state: 'used' | 'replaced' | 'expired' | 'unknown'; at: string | null }>
  /** Sent to the user's own address if none is given. */
  resendVerification(email?: string): Promise<{ message: string }>
  /** `enrolledAt` is when the second factor was set up. */
  accountSecurity(): Promise<{
    emailVerified: boolean
    secondFactor: boolean
    enrolledAt: string | null
  }>
  changeEmail(newEmail: string): Promise<{ message: string }>
  pendingEmailChange(token: string): Promise<PendingAddress>
  confirmEmailChange(proof: MailProof): Promise<void>
  undoEmailChange(token: string): Promise<void>
  /** "This was not me": with the token of a notice, or of the mail after a registration. */
  denyOwnership(token: string): Promise<void>
  /** For administrators, like the next one. */
  resetPasswordOfUser(
    id: number,
    reason: string,
    options?: { keepPasskeys?: boolean | undefined },
  ): Promise<void>
  resendVerificationOfUser(id: number, reason: string): Promise<void>
  accountBrand(): Promise<{
    name: string
    colour: string | null
    logo: boolean
    passwordMinLength: number
  }>
  mails(query?: PageQuery): Promise<Page<Mail>>
  retryMail(id: string): Promise<void>
  mailTemplates(language?: 'en' | 'de' | 'es'): Promise<MailTemplate[]>
  /** Whether the mail server accepts our mails; checked once a minute. */
  mailHealth(): Promise<Health>
  /** In development only. */
  developmentMails(to?: string): Promise<RenderedMail[]>
}

export function factorCalls({ send, calling, session }: OpenSession): FactorCalls {
  const totp = '/api/users/me/totp'
  const codes = '/api/users/me/recovery-codes'
  return {
    completeLogIn: async (mfaToken, proof) => {
      const json = { mfaToken, ...proof }
      const pair = await jsonOf<TokenPair>(send('POST', '/api/auth/mfa', { json }))
      session.pair = pair
      return pair
    },
    reauthenticate: (json) => nothingOf(calling('POST', '/api/auth/reauthenticate', { json })),
    enrolTotp: () => jsonOf(calling('POST', totp)),
    confirmTotp: (code) => jsonOf(calling('POST', `${totp}/confirm`, { json: { code } })),
    removeTotp: (json) => nothingOf(calling('DELETE', totp, { json })),
    renewRecoveryCodes: (code) => jsonOf(calling('POST', codes, { json: { code } })),
    recoveryCodesLeft: () => jsonOf(calling('GET', codes)),
    checkRecoveryCode: (recoveryCode) =>
      nothingOf(calling('POST', `${codes}/check`, { json: { recoveryCode } })),
    secondFactorOfUser: (id) => jsonOf(calling('GET', `/api/users/${id}/totp`)),
    removeTotpOfUser: (id, reason) =>
      jsonOf(calling('DELETE', `/api/users/${id}/totp`, { json: { reason } })),
  }
}

export function recoveryCalls({ send, calling }: OpenSession): RecoveryCalls {
  return {
    requestPasswordReset: (email) =>
      jsonOf(send('POST', '/api/auth/password-reset', { json: { email } })),
    confirmPasswordReset: (proof, newPassword) =>
      nothingOf(
        send('POST', '/api/auth/password-reset/confirm', { json: { ...proof, newPassword } }),
      ),
    verifyEmail: (json) => nothingOf(send('POST', '/api/auth/verify-email', { json })),
    pendingVerification: (token) =>
      jsonOf(send('POST', '/api/auth/verify-email/pending', { json: { token } })),
    linkState: (token) => jsonOf(send('POST', '/api/auth/links/state', { json: { token } })),
    resendVerification: (email) => {
      const call = email === undefined ? calling : send
      return jsonOf(call('POST', '/api/auth/verify-email/resend', { json: { email } }))
    },
    accountSecurity: () => jsonOf(calling('GET', '/api/users/me/security')),
    changeEmail: (newEmail) =>
      jsonOf(calling('POST', '/api/users/me/email', { json: { newEmail } })),
    pendingEmailChange: (token) =>
      jsonOf(send('POST', '/api/users/me/email/pending', { json: { token } })),
    confirmEmailChange: (json) => nothingOf(send('POST', '/api/users/me/email/confirm', { json })),
    undoEmailChange: (token) =>
      nothingOf(send('POST', '/api/users/me/email/undo', { json: { token } })),
    denyOwnership: (token) => nothingOf(send('POST', '/api/auth/not-me', { json: { token } })),
    resetPasswordOfUser: (id, reason, options) => {
      const json = { reason, ...options }
      return nothingOf(calling('POST', `/api/users/${id}/password-reset`, { json }))
    },
    resendVerificationOfUser: (id, reason) =>
      nothingOf(calling('POST', `/api/users/${id}/verify-email`, { json: { reason } })),
    accountBrand: () => jsonOf(send('GET', '/account/brand')),
    mailHealth: () => healthAt(send, '/actuator/health/mail'),
    mails: (query) => jsonOf(calling('GET', '/api/mail', { query })),
    retryMail: (id) => nothingOf(calling('POST', `/api/mail/${segmentOf(id)}/retry`)),
    mailTemplates: (language) =>
      jsonOf(calling('GET', '/api/mail/templates', { query: { language } })),
    developmentMails: (to) => jsonOf(send('GET', '/api/dev/mail', { query: { to } })),
  }
}
