import { originOf, tooManyFailures } from '@plinth/accounts'
import {
  acceptForms,
  bareReply,
  CREDENTIALS_BODY_BYTES,
  FORM,
  inScope,
  queryOf,
  type Reply,
  type Request,
  replyWith,
  type Server,
  Type,
} from '@plinth/kit/http'
import { answerAddress, answerForm } from './answers.ts'
import type { AnswerTo } from './authorization-request.ts'
import { takeAnswer } from './authorizations.ts'
import { type Authorized, authorize } from './authorize.ts'
import { cookieHeader, cookieIn } from './cookies.ts'
import { countAuthorizations, resultOf } from './measure.ts'
import type { OpenId } from './openid.ts'
import { orRefusal } from './refusal-page.ts'

const PATH = '/oauth2/authorize'

const text = Type.Optional(Type.String())

const Parameters = Type.Object({
  client_id: Type.String(),
  redirect_uri: text,
  response_type: text,
  response_mode: text,
  scope: text,
  state: text,
  nonce: text,
  code_challenge: text,
  code_challenge_method: text,
  prompt: text,
  max_age: text,
  login_hint: text,
  id_token_hint: text,
  ui_locales: text,
  acr_values: text,
  resource: Type.Optional(Type.Array(Type.String())),
  request_uri: text,
})

const page = (description: string) =>
  replyWith({ description, mediaTypes: ['text/html'] }, Type.String())

const response = {
  200: page('With response_mode form_post: a page that sends the answer to the client'),
  303: bareReply({
    description: 'To the client with an answer, or to the page on which the user signs in',
    headers: ['Location', 'Set-Cookie'],
  }),
  400: page('The client or its address is not registered: nothing is sent there'),
}

const tags = ['OpenID Connect']

/** authorize · the same as a form · the answer */
export function authorizeRoutes(server: Server, openid: OpenId): void {
  const count = countAuthorizations(server)
  const rejected = () => count('rejected')

  server.get(PATH, {
    schema: {
      operationId: 'authorize',
      summary: 'Ask a user to sign in to a client (OpenID Connect Core)',
      tags,
      readsQuery: Parameters,
      response,
      problems: [tooManyFailures],
    },
    handler: (request, reply) =>
      orRefusal(
        request,
        reply,
        async () => {
          const browser = browserOf(request, openid)
          const authorized = await authorize(openid, queryOf(request), browser, originOf(request))
          count(resultOf(authorized))
          return send(openid, reply, authorized)
        },
        rejected,
      ),
  })

  formRoute(server, openid)

  server.get(`${PATH}/answer`, {
    schema: {
      operationId: 'authorizationAnswer',
      summary: 'The answer to the client, for the browser of a request that was decided',
      tags,
      querystring: Type.Object({ authorization: Type.String() }),
      response,
    },
    handler: (request, reply) =>
      orRefusal(
        request,
        reply,
        async () => {
          const { authorization: id } = request.query
          const taken = await takeAnswer(openid, id, browserOf(request, openid))
          if (!taken) return reply.redirect(signInPage(openid, id), 303)
          return send(openid, reply, { to: taken.request, answer: taken.answer })
        },
        rejected,
      ),
  })
}

function formRoute(server: Server, openid: OpenId): void {
  inScope(server, (scope) => {
    acceptForms(scope)
    // A form from another site brings no cookie; the GET that follows does.
    scope.post(PATH, {
      bodyLimit: CREDENTIALS_BODY_BYTES / 2,
      schema: {
        operationId: 'authorizeByForm',
        summary: 'Ask a user to sign in to a client, with a form',
        tags,
        readsBody: { [FORM]: Parameters },
        response: { 303: bareReply({ headers: ['Location'] }) },
      },
      handler: ({ body }, reply) =>
        reply.redirect(
          `${openid.publicUrl}${PATH}?${body instanceof URLSearchParams ? body : ''}`,
          303,
        ),
    })
  })
}

function signInPage({ publicUrl }: OpenId, id: string): string {
  return `${publicUrl}/account/sign-in?authorization=${encodeURIComponent(id)}`
}

function browserOf({ headers }: Request, openid: OpenId) {
  return { cookie: cookieIn(headers.cookie, openid) }
}

function send(openid: OpenId, reply: Reply, authorized: Authorized): Reply {
  const { cookie } = authorized
  if (cookie) reply.header('set-cookie', cookieHeader(cookie, openid))
  if ('page' in authorized) return reply.redirect(authorized.page, 303)
  const { to, answer } = authorized
  if (isForm(to)) {
    const { page: body, policy } = answerForm(openid, to, answer)
    return reply.header('content-security-policy', policy).type(HTML).send(body)
  }
  return reply.redirect(answerAddress(openid, to, answer), 303)
}

const HTML = 'text/html; charset=utf-8'

function isForm({ responseMode }: AnswerTo): boolean {
  return responseMode === 'form_post'
}
