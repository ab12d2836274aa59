import { originOf } from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  oneOf,
  orNull,
  type Reply,
  type Request,
  replyWith,
  requiredText,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { type Decision, decide, showAuthorization } from './authorizations.ts'
import { cookieHeader, cookieIn } from './cookies.ts'
import type { OpenId } from './openid.ts'
import { authorizationUnknown, signInRejected, signInRequired } from './problems.ts'
import { sameOrigin } from './same-origin-guard.ts'

const text = Type.String()
const closed = { additionalProperties: false }

const AuthorizationReply = Type.Object(
  {
    id: text,
    step: oneOf('sign-in', 'consent', 'done'),
    redirectTo: orNull(Type.String({ description: 'Where the browser goes when it is done' })),
    client: Type.Object(
      {
        clientId: text,
        name: Type.String({ examples: ['Wiki'] }),
        uri: orNull(text),
        host: Type.String({ examples: ['wiki.example'], description: 'Where the answer goes' }),
        firstParty: Type.Boolean(),
      },
      closed,
    ),
    scopes: Type.Array(Type.String({ examples: ['profile'] })),
    resources: Type.Array(text),
    account: orNull(
      Type.Object(
        { username: text, email: text },
        { ...closed, description: 'The account that this browser could continue with' },
      ),
    ),
    loginHint: orNull(text),
    create: Type.Boolean({ description: 'Whether the client asks for a new account' }),
    methods: Type.Array(Type.String({ examples: ['password'] })),
    providers: Type.Array(Type.Object({ id: text, name: text }, closed)),
    locale: orNull(Type.String({ examples: ['en'] })),
    device: orNull(Type.Object({ address: text, userAgent: orNull(text) }, closed)),
    expiresAt: timestamp(),
  },
  { ...closed, title: 'Authorization' },
)

const DecisionBody = Type.Object(
  {
    action: oneOf('sign-in', 'continue', 'allow', 'switch', 'deny'),
    refreshToken: Type.Optional(requiredText({ description: 'Of the login that is handed over' })),
    remember: Type.Optional(Type.Boolean({ description: 'Whether to stay signed in for 14 days' })),
  },
  { title: 'Decision' },
)

const IdPath = Type.Object({ id: text })

const tags = ['OpenID Connect']

/** For the hosted page: what a request asks for, and what its user decides. */
export function authorizationRoutes(server: Server, openid: OpenId): void {
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

type Sent = { action: Decision['action']; refreshToken?: string; remember?: boolean }

function decisionIn({ body, headers }: { body: Sent; headers: Request['headers'] }): Decision {
  const { action, refreshToken = '', remember = false } = body
  if (action !== 'sign-in') return { action }
  const [, accessToken] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  return { action, accessToken, refreshToken, remember }
}
