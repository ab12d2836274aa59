import {
  type AccountGuard,
  ADMIN_ROLE,
  byCaller,
  emailTaken,
  passwordQueueFull,
  reason,
  roles,
  UserReply,
  usernameTaken,
  usernameText,
} from '@plinth/accounts'
import { CREDENTIALS_BODY_BYTES, emailText, type Guard, type Server, Type } from '@plinth/kit/http'
import { mailNotConfigured } from '../mail/problems.ts'
import type { UserMails } from '../mail/user-mails.ts'
import { inviteUser } from './invitation.ts'

const InvitationBody = Type.Object(
  {
    username: usernameText,
    email: emailText(),
    roles: Type.Optional(roles),
    reason: Type.Optional(reason),
  },
  { title: 'Invitation' },
)

/** invitation by an administrator; people who register themselves use the route of the accounts */
export function registrationRoutes(
  server: Server,
  mails: UserMails,
  { guard, recent }: { guard: AccountGuard; recent: Guard },
): void {
  server.post('/api/users', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    onRequest: [guard.role(ADMIN_ROLE), recent],
    schema: {
      operationId: 'createUser',
      summary: 'Create an account; a mail lets its owner choose the password',
      tags: ['Users'],
      body: InvitationBody,
      response: { 201: UserReply },
      problems: [usernameTaken, emailTaken, mailNotConfigured, passwordQueueFull],
    },
    handler: (request) => inviteUser(mails, request.body, byCaller(request)),
  })
}
