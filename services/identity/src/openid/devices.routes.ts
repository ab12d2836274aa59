import { originOf, tooManyFailures } from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  FORM,
  replyWith,
  requiredText,
  type Server,
  shareWithEveryone,
  Type,
} from '@plinth/kit/http'
import { inFormScope } from '../oauth/form-scope.ts'
import { describeOAuthErrors, requestInvalid } from '../oauth/problems.ts'
import { AuthorizationReply } from './authorization-schemas.ts'
import { cookieHeader, cookieIn } from './cookies.ts'
import { openDevice, requestDevice } from './devices.ts'
import { DEVICE_CODE, type OpenId } from './openid.ts'
import {
  clientInvalid,
  clientUnauthorized,
  documentUnavailable,
  scopeNotGranted,
  targetInvalid,
  userCodeUnknown,
} from './problems.ts'
import { sameOrigin } from './same-origin-guard.ts'
import { requireGrantType } from './token.ts'

const PATH = '/oauth2/device_authorization'

const text = Type.String()

const DeviceReply = Type.Object(
  {
    device_code: text,
    user_code: Type.String({ examples: ['WDJB-MJHT'] }),
    verification_uri: text,
    verification_uri_complete: text,
    expires_in: Type.Integer({ examples: [600] }),
    interval: Type.Integer({ examples: [5] }),
  },
  { title: 'DeviceAuthorization' },
)

const CodeBody = Type.Object(
  { userCode: requiredText({ maxLength: 100, examples: ['WDJB-MJHT'] }) },
  { title: 'UserCode' },
)

const tags = ['OpenID Connect']

/** for devices without a browser: a code · for their users: what the code stands for */
export function deviceRoutes(server: Server, openid: OpenId): void {
  inFormScope(server, (scope) => {
    shareWithEveryone(scope, [PATH])
    scope.post(PATH, {
      bodyLimit: CREDENTIALS_BODY_BYTES,
      schema: {
        operationId: 'authorizeDevice',
        summary: 'A code for a device without a browser (RFC 8628)',
        tags,
        problemForm: describeOAuthErrors,
        readsBody: { [FORM]: Type.Object({ client_id: text, scope: Type.Optional(text) }) },
        response: { 200: DeviceReply },
        problems: [
          requestInvalid,
          clientInvalid,
          clientUnauthorized,
          scopeNotGranted,
          targetInvalid,
          documentUnavailable,
          tooManyFailures,
        ],
      },
      handler: async (request) => {
        const { body, headers } = request
        const form = body instanceof URLSearchParams ? body : new URLSearchParams()
        const origin = originOf(request)
        const { authorization } = headers
        const asked = { form, authorization, origin }
        const client = await requireGrantType(openid, asked, DEVICE_CODE)
        return requestDevice(openid, client, form, origin)
      },
    })
  })

  server.post('/api/authorizations', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    onRequest: sameOrigin(openid),
    schema: {
      operationId: 'openDeviceAuthorization',
      summary: 'The request of a device whose code the user has typed',
      tags,
      body: CodeBody,
      response: { 201: replyWith({ headers: ['Set-Cookie'] }, AuthorizationReply) },
      problems: [userCodeUnknown, tooManyFailures],
    },
    handler: async (request, reply) => {
      const browser = { cookie: cookieIn(request.headers.cookie, openid) }
      const { userCode } = request.body
      const { shown, cookie } = await openDevice(openid, userCode, browser, originOf(request))
      if (cookie) reply.header('set-cookie', cookieHeader(cookie, openid))
      return shown
    },
  })
}
