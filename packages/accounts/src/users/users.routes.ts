import { CREDENTIALS_BODY_BYTES, IdPath, pageRequest, pathId, type Server } from '@plinth/kit'
import { type AccountGuard, type Accounts, ADMIN_ROLE } from '../accounts.ts'
import { byCaller, originOf } from '../audit/audit.ts'
import { sessionUnknown, userUnknown } from '../problems.ts'
import { endSessions, sessionsOf } from './access.ts'
import { changeUser } from './changes.ts'
import {
  ProfileReply,
  passwordChangeBody,
  RegistrationReply,
  registrationBody,
  UserChangeBody,
  UserReply,
  UserSessionPath,
} from './schemas.ts'
import {
  changeOwnPassword,
  ownProfile,
  pageOfUsers,
  registerSelf,
  requireOpenRegistration,
  USER_SORTS,
} from './users.ts'

/** register · me · own password · list · enable, disable, roles · sessions of any user */
export function userRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  const { passwordMinLength } = accounts.settings

  server.post('/api/auth/register', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    onRequest: async () => requireOpenRegistration(accounts),
    schema: { body: registrationBody(passwordMinLength), response: { 201: RegistrationReply } },
    handler: async (request, reply) => {
      const user = await registerSelf(accounts, request.body, originOf(request))
      return reply.code(201).send({ message: 'User registered.', ...user })
    },
  })

  server.get('/api/users/me', {
    onRequest: guard.caller,
    schema: { response: { 200: ProfileReply } },
    handler: ({ caller }) => ownProfile(accounts, caller),
  })

  server.post('/api/users/me/password', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    onRequest: guard.caller,
    schema: { body: passwordChangeBody(passwordMinLength) },
    handler: async (request, reply) => {
      await changeOwnPassword(accounts, request.caller, request.body, originOf(request))
      return reply.code(204).send()
    },
  })

  administrationRoutes(server, accounts, guard)
}

function administrationRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  server.get('/api/users', {
    onRequest: guard.role(ADMIN_ROLE, 'users:read'),
    handler: ({ query }) => pageOfUsers(accounts, pageRequest(query, USER_SORTS)),
  })

  server.patch('/api/users/:id', {
    onRequest: guard.role(ADMIN_ROLE, 'users:write'),
    schema: { params: IdPath, body: UserChangeBody, response: { 200: UserReply } },
    handler: (request) => {
      const id = pathId(request.params.id, { unknown: userUnknown })
      return changeUser(accounts, id, request.body, byCaller(request))
    },
  })

  accessRoutes(server, accounts, guard)
}

/** The sessions of any user, for administrators. */
function accessRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  const onRequest = guard.role(ADMIN_ROLE)

  server.get('/api/users/:id/sessions', {
    onRequest,
    schema: { params: IdPath },
    handler: ({ params, caller }) =>
      sessionsOf(accounts, pathId(params.id, { unknown: userUnknown }), caller),
  })

  server.delete('/api/users/:id/sessions', {
    onRequest,
    schema: { params: IdPath },
    handler: async (request, reply) => {
      const userId = pathId(request.params.id, { unknown: userUnknown })
      await endSessions(accounts, userId, 'all', byCaller(request))
      return reply.code(204).send()
    },
  })

  server.delete('/api/users/:id/sessions/:sessionId', {
    onRequest,
    schema: { params: UserSessionPath },
    handler: async (request, reply) => {
      const userId = pathId(request.params.id, { unknown: userUnknown })
      const id = pathId(request.params.sessionId, { unknown: sessionUnknown })
      await endSessions(accounts, userId, { id }, byCaller(request))
      return reply.code(204).send()
    },
  })
}
