import { originOf } from '@plinth/accounts'
import {
  acceptForms,
  bareReply,
  CREDENTIALS_BODY_BYTES,
  FORM,
  inScope,
  orNull,
  queryOf,
  type Request,
  replyWith,
  type Server,
  Type,
} from '@plinth/kit/http'
import { cookieIn, endedCookie } from './cookies.ts'
import type { OpenId } from './openid.ts'
import { signOutUnknown } from './problems.ts'
import { orRefusal } from './refusal-page.ts'
import { sameOrigin } from './same-origin-guard.ts'
import { confirmSignOut, signOut } from './sign-out.ts'

const PATH = '/oauth2/logout'

const text = Type.Optional(Type.String())

const Parameters = Type.Object({
  id_token_hint: text,
  client_id: text,
  post_logout_redirect_uri: text,
  state: text,
})

const response = {
  303: bareReply({
    description: 'To the client, or to the page on which the user confirms it',
    headers: ['Location', 'Set-Cookie'],
  }),
  400: replyWith(
    { description: 'The address is not registered', mediaTypes: ['text/html'] },
    Type.String(),
  ),
}

const SignedOutReply = Type.Object(
  { redirectTo: orNull(Type.String()) },
  { title: 'SignedOut', additionalProperties: false },
)

const tags = ['OpenID Connect']

/** sign-out at the wish of a client · the same as a form · the user's answer */
export function signOutRoutes(server: Server, openid: OpenId): void {
  server.get(PATH, {
    schema: {
      operationId: 'signOut',
      summary: 'Sign the user of this browser out (OpenID Connect RP-Initiated Logout)',
      tags,
      readsQuery: Parameters,
      response,
    },
    handler: (request, reply) =>
      orRefusal(request, reply, async () => {
        const { location, isOver } = await signOut(
          openid,
          queryOf(request),
          browserOf(request, openid),
          originOf(request),
        )
        if (isOver) reply.header('set-cookie', endedCookie(openid))
        return reply.redirect(location, 303)
      }),
  })

  inScope(server, (scope) => {
    acceptForms(scope)
    scope.post(PATH, {
      bodyLimit: CREDENTIALS_BODY_BYTES / 2,
      schema: {
        operationId: 'signOutByForm',
        summary: 'Sign out at the wish of a client, with a form',
        tags,
        readsBody: { [FORM]: Parameters },
        response: { 303: bareReply({ headers: ['Location'] }) },
      },
      handler: ({ body }, reply) => {
        const query = body instanceof URLSearchParams ? body : ''
        return reply.redirect(`${openid.publicUrl}${PATH}?${query}`, 303)
      },
    })
  })

  server.post('/api/sign-outs/:id', {
    onRequest: sameOrigin(openid),
    schema: {
      operationId: 'confirmSignOut',
      summary: 'Confirm that the user of this browser signs out',
      tags,
      params: Type.Object({ id: Type.String() }),
      body: Type.Object({}),
      response: { 200: replyWith({ headers: ['Set-Cookie'] }, SignedOutReply) },
      problems: [signOutUnknown],
    },
    handler: async (request, reply) => {
      const browser = browserOf(request, openid)
      const { id } = request.params
      const signedOut = await confirmSignOut(openid, id, browser, originOf(request))
      reply.header('set-cookie', endedCookie(openid))
      return signedOut
    },
  })
}

function browserOf({ headers }: Request, openid: OpenId) {
  return { cookie: cookieIn(headers.cookie, openid) }
}
