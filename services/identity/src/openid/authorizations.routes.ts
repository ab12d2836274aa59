import { originOf } from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  oneOf,
  type Reply,
  type Request,
  replyWith,
  requiredText,
  type Server,
  Type,
} from '@plinth/kit/http'
import { AuthorizationReply } from './authorization-schemas.ts'
import { type Decision, decide, showAuthorization } from './authorizations.ts'
import { cookieHeader, cookieIn } from './cookies.ts'
import { countAuthorizations } from './measure.ts'
import type { OpenId } from './openid.ts'
import { authorizationUnknown, signInRejected, signInRequired } from './problems.ts'
import { sameOrigin } from './same-origin-guard.ts'

const DecisionBody = Type.Object(
  {
    action: oneOf('sign-in', 'continue', 'allow', 'switch', 'deny'),
    refreshToken: Type.Optional(requiredText({ description: 'Of the login that is handed over' })),
    remember: Type.Optional(Type.Boolean({ description: 'Whether to stay signed in for 14 days' })),
    account: Type.Optional(
      Type.String({ description: 'The username that was shown: another one is not decided for' }),
    ),
  },
  { title: 'Decision' },
)

const IdPath = Type.Object({ id: Type.String() })

const tags = ['OpenID Connect']

/** For the hosted page: what a request asks for, and what its user decides. */
export function authorizationRoutes(server: Server, openid: OpenId): void {
  const count = countAuthorizations(server)

  server.get('/api/authorizations/:id', {
    schema: {
      operationId: 'authorization',
      summary: 'A request of a client that awaits the user of this browser',
      tags,
      params: IdPath,
      response: { 200: AuthorizationReply },
      problems: [authorizationUnknown],
    },
    handler: (request) => showAuthorization(openid, request.params.id, browserOf(request, openid)),
  })

  server.post('/api/authorizations/:id', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    onRequest: sameOrigin(openid),
    schema: {
      operationId: 'decideAuthorization',
      summary: 'Sign in for a request, allow it, deny it, or use another account',
      tags,
      params: IdPath,
      body: DecisionBody,
      response: { 200: replyWith({ headers: ['Set-Cookie'] }, AuthorizationReply) },
      problems: [authorizationUnknown, signInRequired, signInRejected],
    },
    handler: async (request, reply) => {
      const { id } = request.params
      const browser = browserOf(request, openid)
      const decision = decisionIn(request)
      const { shown, cookie } = await decide(openid, { id, browser, decision }, originOf(request))
      setCookie(reply, openid, cookie)
      if (shown.step === 'done') count(decision.action === 'deny' ? 'denied' : 'granted')
      return shown
    },
  })
}

type Cookie = Parameters<typeof cookieHeader>[0] | undefined

function setCookie(reply: Reply, openid: OpenId, cookie: Cookie): void {
  if (cookie) reply.header('set-cookie', cookieHeader(cookie, openid))
}

function browserOf({ headers }: Request, openid: OpenId) {
  return { cookie: cookieIn(headers.cookie, openid) }
}

type Sent = {
  action: Decision['action']
  refreshToken?: string
  remember?: boolean
  account?: string
}

function decisionIn({ body, headers }: { body: Sent; headers: Request['headers'] }): Decision {
  const { action, refreshToken = '', remember = false, account } = body
  if (action !== 'sign-in') return { action, account }
  const [, accessToken] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  return { action, accessToken, refreshToken, remember }
}
