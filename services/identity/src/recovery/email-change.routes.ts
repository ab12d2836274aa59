import { type AccountGuard, emailTaken, originOf, passwordQueueFull } from '@plinth/accounts'
import { CREDENTIALS_BODY_BYTES, type Guard, noContent, type Server } from '@plinth/kit/http'
import { mailNotConfigured } from '../mail/problems.ts'
import { AcceptedReply, TokenBody } from '../mail/schemas.ts'
import { tokenRejected } from '../tokens/problems.ts'
import {
  confirmEmailChange,
  pendingEmailChange,
  requestEmailChange,
  undoEmailChange,
} from './email-change.ts'
import type { Recovery } from './recovery.ts'
import { NewEmailBody, PendingChangeReply, ProofBody, requireProof } from './schemas.ts'

const tags = ['Recovery']
const own = ['Own account']
const bodyLimit = CREDENTIALS_BODY_BYTES

/** change · pending change · confirm · undo */
export function emailRoutes(
  server: Server,
  recovery: Recovery,
  { guard, recent }: { guard: AccountGuard; recent: Guard },
): void {
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
    handler: async (request) => {
      const { newEmail } = request.body
      await requestEmailChange(recovery, request.caller, newEmail, originOf(request))
      return { message: 'A mail is on its way to the new address.' }
    },
  })

  linkRoutes(server, recovery)
}

/** For whoever holds a link or a code, signed in or not. */
function linkRoutes(server: Server, recovery: Recovery): void {
  server.post('/api/users/me/email/pending', {
    bodyLimit,
    schema: {
      operationId: 'pendingEmailChange',
      summary: 'Which account a link moves to an address; changes nothing',
      tags,
      body: TokenBody,
      response: { 200: PendingChangeReply },
      problems: [tokenRejected],
    },
    handler: ({ body }) => pendingEmailChange(recovery, body.token),
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
    handler: async (request) => {
      requireProof(request.body)
      await confirmEmailChange(recovery, request.body, originOf(request))
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
    handler: (request) => undoEmailChange(recovery, request.body, originOf(request)),
  })
}
