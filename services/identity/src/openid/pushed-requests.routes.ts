import { originOf, tooManyFailures } from '@plinth/accounts'
import { CREDENTIALS_BODY_BYTES, FORM, type Server, Type } from '@plinth/kit/http'
import { inFormScope } from '../oauth/form-scope.ts'
import { describeOAuthErrors } from '../oauth/problems.ts'
import { authenticateClient } from './client-authentication.ts'
import type { OpenId } from './openid.ts'
import { clientInvalid, documentUnavailable } from './problems.ts'
import { PUSHED_PROBLEMS, pushRequest } from './pushed-requests.ts'

const PushedReply = Type.Object(
  {
    request_uri: Type.String({ examples: ['urn:ietf:params:oauth:request_uri:T2dEbU1r'] }),
    expires_in: Type.Integer({ examples: [60] }),
  },
  { title: 'PushedRequest' },
)

export function pushedRequestRoutes(server: Server, openid: OpenId): void {
  inFormScope(server, (scope) => {
    scope.post('/oauth2/par', {
      bodyLimit: CREDENTIALS_BODY_BYTES,
      schema: {
        operationId: 'pushAuthorizationRequest',
        summary: 'Keep the parameters of an authorization request (RFC 9126)',
        tags: ['OpenID Connect'],
        problemForm: describeOAuthErrors,
        readsBody: { [FORM]: Type.Object({ client_id: Type.String() }) },
        response: { 201: PushedReply },
        problems: [...PUSHED_PROBLEMS, clientInvalid, documentUnavailable, tooManyFailures],
      },
      handler: async (request) => {
        const { body, headers } = request
        const form = body instanceof URLSearchParams ? body : new URLSearchParams()
        const { authorization } = headers
        const origin = originOf(request)
        const client = await authenticateClient(openid, { form, authorization, origin })
        return pushRequest(openid, client, form, origin)
      },
    })
  })
}
