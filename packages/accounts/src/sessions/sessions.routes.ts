import {
  CREDENTIALS_BODY_BYTES,
  emptyBody,
  IdPath,
  noContent,
  pathId,
  type Request,
  type Server,
} from '@plinth/kit/http'
import { type AccountGuard, type Accounts, ADMIN_ROLE } from '../accounts.ts'
import { byCaller, originOf } from '../audit/audit.ts'
import { WhyBody } from '../audit/schemas.ts'
import { passwordQueueFull } from '../passwords/pool.ts'
import {
  credentialsRejected,
  refreshTokenRejected,
  sessionUnknown,
  tooManyFailures,
  userUnknown,
} from '../problems.ts'
import { logIn } from './login.ts'
import { refreshSession } from './refresh.ts'
import {
  CredentialsBody,
  LogoutReply,
  OptionalRefreshBody,
  RefreshBody,
  SessionsReply,
  TokenPairReply,
  UserSessionPath,
} from './schemas.ts'
import { endOwnSession, logOut, ownSessions } from './sessions.ts'
import { endSessions, sessionsOf } from './sessions-of-users.ts'

const tags = ['Signing in']

const LOGGED_OUT = { message: 'Logged out.' }

/** login · refresh · logout · own sessions · sessions of any user */
export function sessionRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  server.post('/api/auth/login', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: {
      operationId: 'logIn',
      summary: 'Sign in with a password',
      tags,
      body: CredentialsBody,
      response: { 200: TokenPairReply },
      problems: [
        credentialsRejected,
        tooManyFailures,
        passwordQueueFull,
        ...(accounts.gate?.problems ?? []),
        ...(accounts.turnAway?.problems ?? []),
      ],
    },
    handler: (request) => logIn(accounts, request.body, originOf(request)),
  })

  server.post('/api/auth/refresh', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: {
      operationId: 'refresh',
      summary: 'Exchange a refresh token for a new pair; it works once',
      tags,
      body: RefreshBody,
      response: { 200: TokenPairReply },
      problems: [refreshTokenRejected, tooManyFailures],
    },
    handler: (request) => refreshSession(accounts, request.body.refreshToken, originOf(request)),
  })

  logoutRoute(server, accounts, guard)

  server.get('/api/users/me/sessions', {
    onRequest: guard.caller,
    schema: {
      operationId: 'sessions',
      summary: 'Your active sessions',
      tags: ['Own account'],
      response: { 200: SessionsReply },
    },
    handler: ({ caller }) => ownSessions(accounts, caller),
  })

  server.delete('/api/users/me/sessions/:id', {
    onRequest: guard.caller,
    schema: {
      operationId: 'endSession',
      summary: 'End one of your sessions',
      tags: ['Own account'],
      params: IdPath,
      response: { 204: noContent },
      problems: [sessionUnknown],
    },
    handler: async (request) => {
      const id = pathId(request.params.id, { unknown: sessionUnknown })
      await endOwnSession(accounts, request.caller, id, originOf(request))
    },
  })

  administrationRoutes(server, accounts, guard)
}

function logoutRoute(server: Server, accounts: Accounts, guard: AccountGuard): void {
  const logOutWith = async (request: Request, refreshToken: string | undefined) => {
    await logOut(accounts, request.caller, refreshToken, originOf(request))
    return LOGGED_OUT
  }
  const route = { onRequest: guard.caller }
  const schema = {
    operationId: 'logOut',
    summary: 'End a session; its access token stays valid until it expires',
    tags,
    response: { 200: LogoutReply },
  }
  if (accounts.settings.logoutEndsCaller) {
    server.post('/api/auth/logout', {
      bodyLimit: CREDENTIALS_BODY_BYTES,
      ...route,
      preValidation: emptyBody,
      schema: { ...schema, body: OptionalRefreshBody },
      handler: (request) => logOutWith(request, request.body.refreshToken),
    })
  } else {
    server.post('/api/auth/logout', {
      bodyLimit: CREDENTIALS_BODY_BYTES,
      ...route,
      schema: { ...schema, body: RefreshBody },
      handler: (request) => logOutWith(request, request.body.refreshToken),
    })
  }
}

/** The sessions of any user, for administrators. */
function administrationRoutes(server: Server, accounts: Accounts, guard: AccountGuard): void {
  const onRequest = guard.role(ADMIN_ROLE)

  server.get('/api/users/:id/sessions', {
    onRequest,
    schema: {
      operationId: 'sessionsOfUser',
      summary: 'The active sessions of a user',
      tags: ['Users'],
      params: IdPath,
      response: { 200: SessionsReply },
      problems: [userUnknown],
    },
    handler: ({ params, caller }) =>
      sessionsOf(accounts, pathId(params.id, { unknown: userUnknown }), caller),
  })

  server.delete('/api/users/:id/sessions', {
    onRequest,
    preValidation: emptyBody,
    schema: {
      operationId: 'endSessionsOfUser',
      summary: 'End all sessions of a user',
      tags: ['Users'],
      params: IdPath,
      body: WhyBody,
      response: { 204: noContent },
      problems: [userUnknown],
    },
    handler: async (request) => {
      const userId = pathId(request.params.id, { unknown: userUnknown })
      await endSessions(accounts, userId, 'all', byCaller(request))
    },
  })

  server.delete('/api/users/:id/sessions/:sessionId', {
    onRequest,
    preValidation: emptyBody,
    schema: {
      operationId: 'endSessionOfUser',
      summary: 'End one session of a user',
      tags: ['Users'],
      params: UserSessionPath,
      body: WhyBody,
      response: { 204: noContent },
      problems: [userUnknown, sessionUnknown],
    },
    handler: async (request) => {
      const userId = pathId(request.params.id, { unknown: userUnknown })
      const id = pathId(request.params.sessionId, { unknown: sessionUnknown })
      await endSessions(accounts, userId, { id }, byCaller(request))
    },
  })
}
