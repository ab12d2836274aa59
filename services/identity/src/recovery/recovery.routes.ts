import {
  type AccountGuard,
  ADMIN_ROLE,
  byCaller,
  deletionPending,
  emailTaken,
  lastAdministrator,
  originOf,
  passwordQueueFull,
  tooManyFailures,
  usernameTaken,
  userUnknown,
  WhyBody,
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
} from '@plinth/kit/http'
import { accessTokenRejected } from '@plinth/kit/problems'
import { codeRejected, mfaRequired } from '../factors/problems.ts'
import { mailNotConfigured } from '../mail/problems.ts'
import { AcceptedReply, TokenBody } from '../mail/schemas.ts'
import { askForMail } from '../mail/user-mails.ts'
import { linkState } from '../tokens/one-time-tokens.ts'
import { tokenRejected } from '../tokens/problems.ts'
import { requireNewPassword } from './entry.ts'
import { denyOwnership } from './not-me.ts'
import { confirmPasswordReset, resetByAdministrator } from './password-reset.ts'
import { accountDisabled, addressNotMailable, emailVerified } from './problems.ts'
import type { Recovery } from './recovery.ts'
import {
  AdministratorsResetBody,
  EmailBody,
  LinkStateReply,
  PendingReply,
  ProofBody,
  ResendBody,
  requireProof,
  resetBody,
} from './schemas.ts'
import {
  addressOfCaller,
  pendingVerification,
  resendByAdministrator,
  verifyEmail,
} from './verification.ts'

const tags = ['Recovery']
const bodyLimit = CREDENTIALS_BODY_BYTES

/** The same body whether or not the address is known. */
const ASKED = { message: 'If there is such an account, a mail is on its way.' }

type Guards = { guard: AccountGuard; recent: Guard }

/** password reset · link state · "this was not me" · address verification · for administrators */
export function recoveryRoutes(server: Server, recovery: Recovery, guards: Guards): void {
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
    handler: async (request) => {
      await askForMail(recovery, 'password-reset', { to: request.body.email }, originOf(request))
      return ASKED
    },
  })

  server.post('/api/auth/password-reset/confirm', {
    bodyLimit,
    schema: {
      operationId: 'confirmPasswordReset',
      summary: 'Choose a new password with the token or code of the mail; ends every session',
      tags,
      body: resetBody(recovery.accounts.settings.passwordMinLength),
      response: { 204: bareReply({ headers: ['Removed-Factors'] }) },
      problems: [tokenRejected, passwordQueueFull, mfaRequired, codeRejected, tooManyFailures],
    },
    handler: async (request, reply) => {
      requireProof(request.body)
      const removed = await confirmPasswordReset(recovery, request.body, originOf(request))
      if (removed.length > 0) reply.header('removed-factors', removed.join(', '))
    },
  })

  linkRoutes(server, recovery)
  verificationRoutes(server, recovery)
  administrationRoutes(server, recovery, guards)
}

/** Mails to a user, sent by administrators, who may learn why one cannot be sent. */
function administrationRoutes(server: Server, recovery: Recovery, { guard, recent }: Guards): void {
  const admin = guard.role(ADMIN_ROLE)
  const schema = {
    tags: ['Users'],
    params: IdPath,
    response: { 202: bareReply({ description: 'The mail is on its way' }) },
  }
  const problems = [
    userUnknown,
    mailNotConfigured,
    deletionPending,
    accountDisabled,
    addressNotMailable,
  ]
  const userIdOf = (id: string) => pathId(id, { unknown: userUnknown })

  server.post('/api/users/:id/password-reset', {
    onRequest: [admin, recent],
    preValidation: emptyBody,
    schema: {
      operationId: 'resetPasswordOfUser',
      summary: 'End the password, sessions and passkeys of a user, and mail a reset link',
      ...schema,
      body: AdministratorsResetBody,
      problems: [...problems, passwordQueueFull],
    },
    handler: async (request) => {
      const id = userIdOf(request.params.id)
      await resetByAdministrator(recovery, id, request.body, byCaller(request))
    },
  })

  server.post('/api/users/:id/verify-email', {
    onRequest: admin,
    preValidation: emptyBody,
    schema: {
      operationId: 'resendVerificationOfUser',
      summary: 'Resend the verification mail to a user',
      ...schema,
      body: WhyBody,
      problems: [...problems, emailVerified],
    },
    handler: (request) =>
      resendByAdministrator(recovery, userIdOf(request.params.id), byCaller(request)),
  })

  server.post('/api/users/:id/require-password-change', {
    onRequest: admin,
    schema: {
      operationId: 'requirePasswordChange',
      summary: 'Ask for a new password at the next login of a user',
      tags: schema.tags,
      params: IdPath,
      body: WhyBody,
      response: { 204: noContent },
      problems: [userUnknown],
    },
    handler: (request) =>
      requireNewPassword(recovery, userIdOf(request.params.id), byCaller(request)),
  })
}

function linkRoutes(server: Server, recovery: Recovery): void {
  server.post('/api/auth/links/state', {
    bodyLimit,
    schema: {
      operationId: 'linkState',
      summary: 'Why the link of a mail does not work; changes nothing',
      tags,
      body: TokenBody,
      response: { 200: LinkStateReply },
    },
    handler: ({ body }) => linkState(recovery, body.token),
  })

  server.post('/api/auth/not-me', {
    bodyLimit,
    schema: {
      operationId: 'denyOwnership',
      summary: 'Deny that it was you: ends sessions, password, passkeys; mails a reset link',
      tags,
      body: TokenBody,
      response: { 204: noContent },
      problems: [tokenRejected, passwordQueueFull, lastAdministrator, deletionPending],
    },
    handler: (request) => denyOwnership(recovery, request.body, originOf(request)),
  })
}

function verificationRoutes(server: Server, recovery: Recovery): void {
  server.post('/api/auth/verify-email', {
    bodyLimit,
    schema: {
      operationId: 'verifyEmail',
      summary: 'Verify your address with the token or code of the mail',
      tags,
      body: ProofBody,
      response: { 204: noContent },
      problems: [tokenRejected, usernameTaken, emailTaken],
    },
    handler: async (request) => {
      requireProof(request.body)
      await verifyEmail(recovery, request.body, originOf(request))
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
    preValidation: emptyBody,
    schema: {
      operationId: 'resendVerification',
      summary: 'Ask for another mail to verify an address, or your own with a token',
      tags,
      body: ResendBody,
      response: { 202: AcceptedReply },
      problems: [mailNotConfigured, accessTokenRejected],
    },
    handler: async (request) => {
      const to = request.body.email ?? (await addressOfCaller(recovery, bearerOf(request)))
      await askForMail(recovery, 'verify-email', { to }, originOf(request))
      return ASKED
    },
  })
}

function bearerOf({ headers }: Request): string {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}
