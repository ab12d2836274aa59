import { originOf, tooManyFailures } from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  handleProblems,
  inScope,
  type Server,
  Type,
} from '@plinth/kit/http'
import { describeOAuthErrors, renderOAuthError } from '../oauth/problems.ts'
import { registerClient, requireRegistration } from './client-registration.ts'
import type { OpenId } from './openid.ts'
import { clientMetadataInvalid, redirectAddressInvalid, registrationOff } from './problems.ts'

const text = Type.String()
const texts = Type.Array(text)

const MetadataBody = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  title: 'ClientMetadata',
  description: 'RFC 7591, section 2. Members that are not supported are ignored',
  additionalProperties: true,
})

const RegisteredReply = Type.Object(
  {
    client_id: text,
    client_id_issued_at: Type.Integer(),
    client_name: text,
    redirect_uris: texts,
    post_logout_redirect_uris: texts,
    grant_types: texts,
    response_types: texts,
    token_endpoint_auth_method: Type.String({ examples: ['none'] }),
    scope: text,
    id_token_signed_response_alg: text,
    client_uri: Type.Optional(text),
  },
  { title: 'RegisteredClient' },
)

export function clientRegistrationRoutes(server: Server, openid: OpenId): void {
  inScope(server, (scope) => {
    handleProblems(scope, renderOAuthError)
    scope.post('/oauth2/register', {
      bodyLimit: CREDENTIALS_BODY_BYTES,
      onRequest: async () => requireRegistration(openid),
      schema: {
        operationId: 'registerClient',
        summary: 'Register a public client, if the settings allow it (RFC 7591)',
        tags: ['OpenID Connect'],
        problemForm: describeOAuthErrors,
        body: MetadataBody,
        response: { 201: RegisteredReply },
        problems: [registrationOff, clientMetadataInvalid, redirectAddressInvalid, tooManyFailures],
      },
      handler: (request) => registerClient(openid, request.body, originOf(request)),
    })
  })
}
