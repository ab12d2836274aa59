import {
  CREDENTIALS_BODY_BYTES,
  type Request,
  type Server,
  shareWithEveryone,
  Type,
} from '@plinth/kit/http'
import { inFormScope } from '../oauth/form-scope.ts'
import { describeOAuthErrors, requestInvalid } from '../oauth/problems.ts'
import { userInfo } from './granted-tokens.ts'
import type { OpenId } from './openid.ts'
import { openIdNotGranted, tokenInvalid, tokenMissing } from './problems.ts'

const PATH = '/oauth2/userinfo'

const UserInfoReply = Type.Object(
  {
    sub: Type.String({ examples: ['7'] }),
    name: Type.Optional(Type.String()),
    preferred_username: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
    email_verified: Type.Optional(Type.Boolean()),
    roles: Type.Optional(Type.Array(Type.String())),
  },
  { title: 'UserInfo', additionalProperties: false },
)

const schema = {
  tags: ['OpenID Connect'],
  problemForm: describeOAuthErrors,
  access: [
    {
      schemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      problems: [tokenInvalid, openIdNotGranted],
    },
  ],
  response: { 200: UserInfoReply },
  problems: [requestInvalid],
}

export function userInfoRoutes(server: Server, openid: OpenId): void {
  inFormScope(server, (scope) => {
    shareWithEveryone(scope, [PATH])
    const handler = (request: Request) => userInfo(openid, tokenIn(request))
    const summary = 'What the scopes of an access token say about its user'
    scope.get(PATH, { schema: { ...schema, operationId: 'userInfo', summary }, handler })
    scope.post(PATH, {
      bodyLimit: CREDENTIALS_BODY_BYTES,
      schema: {
        ...schema,
        operationId: 'userInfoByForm',
        summary: 'Claims about the user of a token, with a form',
      },
      handler,
    })
  })
}

/** RFC 6750, sections 2.1 and 2.2. */
function tokenIn({ headers, body }: Request): string {
  const [, token] = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? []
  const inForm = body instanceof URLSearchParams ? body.get('access_token') : null
  if (token !== undefined && inForm !== null)
    throw requestInvalid({ detail: 'Send the access token in one way only.' })
  const found = token ?? inForm
  if (!found) throw headers.authorization === undefined ? tokenMissing() : tokenInvalid()
  return found
}
