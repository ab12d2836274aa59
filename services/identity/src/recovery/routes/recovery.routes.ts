import {
  type AccountGuard,
  ADMIN_ROLE,
  byCaller,
  emailTaken,
  originOf,
  passwordQueueFull,
  tooManyFailures,
  userUnknown,
} from '@plinth/accounts'
import {
  bareReply,
  CREDENTIALS_BODY_BYTES,
  emptyBody,
  type Guard,
  IdPath,
  noContent,
  pathId,
  type Request,
  type Server,
  validationFailed,
} from '@plinth/kit'
import { codeRejected, mfaRequired } from '../../factors/problems.ts'
import { languageFor } from '../../mail/messages.ts'
import { mailNotConfigured } from '../../mail/problems.ts'
import { confirmEmailChange, requestEmailChange, undoEmailChange } from '../by-mail/email-change.ts'
import { confirmPasswordReset, resetByAdministrator } from '../by-mail/password-reset.ts'
import { accountSecurity, pendingVerification, verifyEmail } from '../by-mail/verification.ts'
import type { Proof } from '../one-time-tokens.ts'
import { tokenRejected } from '../problems.ts'
import { askForMail, type Recovery } from '../recovery.ts'
import {
  AcceptedReply,
  AdministratorsResetBody,
  EmailBody,
  NewEmailBody,
  PendingReply,
  ProofBody,
  resetBody,
  SecurityReply,
  TokenBody,
} from './schemas.ts'

const tags = ['Recovery']
const own = ['Own account']
const bodyLimit = CREDENTIALS_BODY_BYTES

/** One body, whatever is known about the address. */
const ASKED = { message: 'If there is such an account, a mail is on its way.' }

/** verify the address · reset the password · change the address */
export function recoveryRoutes(
  server: Server,
  recovery: Recovery,
  { guard, recent }: { guard: AccountGuard; recent: Guard },
): void {
  const { settings } = recovery.outbox
  const languageOf = ({ headers }: Request) =>
    languageFor(headers['accept-language'], settings.language)

  server.post('/api/auth/password-reset', {
    bodyLimit,
    schema: {
      operationId: 'requestPasswordReset',
      summary: 'Ask for a mail to choose a new password',
      tags,
      body: EmailBody,
      response: { 202: AcceptedReply },
      problems: [mailNotConfigured],
    },
    handler: async (request, reply) => {
      const asked = { to: request.body.email, language: languageOf(request) }
      await askForMail(recovery, 'password-reset', asked, originOf(request))
      return reply.code(202).send(ASKED)
    },
  })

  server.post('/api/auth/password-reset/confirm', {
    bodyLimit,
    schema: {
      operationId: 'confirmPasswordReset',
      summary: 'Choose a new password with the token or code of the mail; ends every session',
      tags,
      body: resetBody(recovery.accounts.settings.passwordMinLength),
      response: { 204: noContent },
      problems: [tokenRejected, passwordQueueFull, mfaRequired, codeRejected, tooManyFailures],
    },
    handler: async (request, reply) => {
      requireProof(request.body)
      await confirmPasswordReset(recovery, request.body, originOf(request))
      return reply.code(204).send()
    },
  })

  server.post('/api/users/:id/password-reset', {
    onRequest: guard.role(ADMIN_ROLE),
    preValidation: emptyBody,
    schema: {
      operationId: 'resetPasswordOfUser',
      summary: 'End the password, sessions and passkeys of a user, and mail a way back',
      tags: ['Users'],
      params: IdPath,
      body: AdministratorsResetBody,
      response: { 202: bareReply({ description: 'The mail is on its way' }) },
      problems: [userUnknown, mailNotConfigured, passwordQueueFull],
    },
    handler: async (request, reply) => {
      const id = pathId(request.params.id, { unknown: userUnknown })
      await resetByAdministrator(recovery, id, request.body, byCaller(request))
      return reply.code(202).send()
    },
  })

  verificationRoutes(server, recovery, languageOf)
  emailRoutes(server, recovery, { guard, recent, languageOf })
}

type LanguageOf = (request: Request) => ReturnType<typeof languageFor>

function verificationRoutes(server: Server, recovery: Recovery, languageOf: LanguageOf): void {
  server.post('/api/auth/verify-email', {
    bodyLimit,
    schema: {
      operationId: 'verifyEmail',
      summary: 'Verify your address with the token or code of the mail',
      tags,
      body: ProofBody,
      response: { 204: noContent },
      problems: [tokenRejected],
    },
    handler: async (request, reply) => {
      requireProof(request.body)
      await verifyEmail(recovery, request.body, originOf(request))
      return reply.code(204).send()
    },
  })

  server.post('/api/auth/verify-email/pending', {
    bodyLimit,
    schema: {
      operationId: 'pendingVerification',
      summary: 'Which account a verification link is for; changes nothing',
      tags,
      body: TokenBody,
      response: { 200: PendingReply },
      problems: [tokenRejected],
    },
    handler: ({ body }) => pendingVerification(recovery, body.token),
  })

  server.post('/api/auth/verify-email/resend', {
    bodyLimit,
    schema: {
      operationId: 'resendVerification',
      summary: 'Ask for another mail to verify an address',
      tags,
      body: EmailBody,
      response: { 202: AcceptedReply },
      problems: [mailNotConfigured],
    },
    handler: async (request, reply) => {
      const asked = { to: request.body.email, language: languageOf(request) }
      await askForMail(recovery, 'verify-email', asked, originOf(request))
      return reply.code(202).send(ASKED)
    },
  })
}

type Wiring = { guard: AccountGuard; recent: Guard; languageOf: LanguageOf }

function emailRoutes(
  server: Server,
  recovery: Recovery,
  { guard, recent, languageOf }: Wiring,
): void {
  server.get('/api/users/me/security', {
    onRequest: guard.caller,
    schema: {
      operationId: 'accountSecurity',
      summary: 'Whether your address is verified, and whether you have a second factor',
      tags: own,
      response: { 200: SecurityReply },
    },
    handler: ({ caller }) => accountSecurity(recovery, caller),
  })

  server.post('/api/users/me/email', {
    bodyLimit,
    onRequest: [guard.caller, recent],
    schema: {
      operationId: 'changeEmail',
      summary: 'Ask for a mail to your new address; the old one stays until that is confirmed',
      tags: own,
      body: NewEmailBody,
      response: { 202: AcceptedReply },
      problems: [mailNotConfigured],
    },
    handler: async (request, reply) => {
      const asked = { newEmail: request.body.newEmail, language: languageOf(request) }
      await requestEmailChange(recovery, request.caller, asked, originOf(request))
      return reply.code(202).send({ message: 'A mail is on its way to the new address.' })
    },
  })

  server.post('/api/users/me/email/confirm', {
    bodyLimit,
    schema: {
      operationId: 'confirmEmailChange',
      summary: 'Change the address with the token or code of the mail',
      tags,
      body: ProofBody,
      response: { 204: noContent },
      problems: [tokenRejected, emailTaken],
    },
    handler: async (request, reply) => {
      requireProof(request.body)
      await confirmEmailChange(recovery, request.body, originOf(request))
      return reply.code(204).send()
    },
  })

  server.post('/api/users/me/email/undo', {
    bodyLimit,
    schema: {
      operationId: 'undoEmailChange',
      summary: 'Restore the old address; ends every session and asks for a new password',
      tags,
      body: TokenBody,
      response: { 204: noContent },
      problems: [tokenRejected, emailTaken, passwordQueueFull],
    },
    handler: async (request, reply) => {
      await undoEmailChange(recovery, request.body, originOf(request))
      return reply.code(204).send()
    },
  })
}

function requireProof({ token, email, code }: Proof): void {
  if (token !== undefined || (email !== undefined && code !== undefined)) return
  throw validationFailed(['token: is required, or an email and a code'])
}
