import { CREDENTIALS_BODY_BYTES, IdPath, pathId, type Request, type Server } from '@plinth/kit'
import type { AccountGuard, Accounts } from '../accounts.ts'
import { originOf } from '../audit/audit.ts'
import { sessionUnknown } from '../problems.ts'
import { logIn } from './login.ts'
import { refreshSession } from './refresh.ts'
import {
  CredentialsBody,
  OptionalRefreshBody,
  RefreshBody,
  SessionsReply,
  TokenPairReply,
} from './schemas.ts'
import { endOwnSession, logOut, ownSessions } from './sessions.ts'

const LOGGED_OUT = { message: 'Logged out.' }

/** login · refresh · logout · own sessions */
export function sessionRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  server.post('/api/auth/login', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: { body: CredentialsBody, response: { 200: TokenPairReply } },
    handler: (request) => logIn(accounts, request.body, originOf(request)),
  })

  server.post('/api/auth/refresh', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: { body: RefreshBody, response: { 200: TokenPairReply } },
    handler: (request) => refreshSession(accounts, request.body.refreshToken, originOf(request)),
  })

  logoutRoute(server, accounts, guard)

  server.get('/api/users/me/sessions', {
    onRequest: guard.caller,
    schema: { response: { 200: SessionsReply } },
    handler: ({ caller }) => ownSessions(accounts, caller),
  })

  server.delete('/api/users/me/sessions/:id', {
    onRequest: guard.caller,
    schema: { params: IdPath },
    handler: async (request, reply) => {
      const id = pathId(request.params.id, { unknown: sessionUnknown })
      await endOwnSession(accounts, request.caller, id, originOf(request))
      return reply.code(204).send()
    },
  })
}

function logoutRoute(server: Server, accounts: Accounts, guard: AccountGuard): void {
  const logOutWith = async (request: Request, refreshToken: string | undefined) => {
    await logOut(accounts, request.caller, refreshToken, originOf(request))
    return LOGGED_OUT
  }
  const route = { onRequest: guard.caller }
  if (accounts.settings.logoutEndsCaller) {
    server.post('/api/auth/logout', {
      bodyLimit: CREDENTIALS_BODY_BYTES,
      ...route,
      preValidation: async (request) => {
        request.body ??= {}
      },
      schema: { body: OptionalRefreshBody },
      handler: (request) => logOutWith(request, request.body.refreshToken),
    })
  } else {
    server.post('/api/auth/logout', {
      bodyLimit: CREDENTIALS_BODY_BYTES,
      ...route,
      schema: { body: RefreshBody },
      handler: (request) => logOutWith(request, request.body.refreshToken),
    })
  }
}
