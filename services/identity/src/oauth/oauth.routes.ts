import { type AccountGuard, ADMIN_ROLE, originOf, requireUser, userUnknown } from '@plinth/accounts'
import {
  answerPreflights,
  bareReply,
  CREDENTIALS_BODY_BYTES,
  FORM,
  IdPath,
  pathId,
  type Request,
  replyWith,
  type Server,
  shareWithEveryone,
  Type,
} from '@plinth/kit/http'
import { Problem } from '@plinth/kit/problems'
import { KEY_PROBLEMS, type KeyCaller, type KeyGuard } from '@plinth/service-keys'
import type { Scope } from '../scopes.ts'
import { inFormScope } from './form-scope.ts'
import {
  grantToken,
  grantTypesOf,
  introspect,
  metadataOf,
  type OAuth,
  type OAuthExtension,
  revoke,
} from './oauth.ts'
import {
  clientRejected,
  describeOAuthErrors,
  errorOf,
  grantUnsupported,
  requestInvalid,
  scopeInvalid,
  tokenUnsupported,
} from './problems.ts'

const METADATA = '/.well-known/oauth-authorization-server'
const OPENID_METADATA = '/.well-known/openid-configuration'
const METADATA_SECONDS = 300
const INTROSPECTION_SCOPE: Scope = 'tokens:introspect'

const text = Type.String()
const texts = Type.Array(text)

const MetadataReply = Type.Object(
  {
    issuer: text,
    jwks_uri: text,
    token_endpoint: text,
    token_endpoint_auth_methods_supported: texts,
    grant_types_supported: texts,
    response_types_supported: texts,
    scopes_supported: texts,
    introspection_endpoint: text,
    introspection_endpoint_auth_methods_supported: texts,
    revocation_endpoint: text,
    revocation_endpoint_auth_methods_supported: texts,
    service_documentation: text,
  },
  {
    title: 'AuthorizationServerMetadata',
    description: 'Also members of OpenID Connect Discovery and of other standards',
    additionalProperties: {},
  },
)

const TokenReply = Type.Object(
  {
    access_token: text,
    token_type: text,
    expires_in: Type.Integer(),
    scope: text,
    id_token: Type.Optional(text),
    refresh_token: Type.Optional(text),
  },
  { title: 'ClientToken' },
)

const IntrospectionReply = Type.Object(
  { active: Type.Boolean() },
  {
    title: 'Introspection',
    description: 'For an active token, also its claims (RFC 7662)',
    additionalProperties: {},
  },
)

const GrantForm = Type.Object({
  grant_type: Type.String({ examples: ['client_credentials'] }),
  scope: Type.Optional(text),
  client_id: Type.Optional(text),
  client_secret: Type.Optional(text),
  client_assertion: Type.Optional(text),
  client_assertion_type: Type.Optional(text),
  code: Type.Optional(text),
  redirect_uri: Type.Optional(text),
  code_verifier: Type.Optional(text),
  refresh_token: Type.Optional(text),
  resource: Type.Optional(texts),
})

const TokenForm = Type.Object({ token: text, token_type_hint: Type.Optional(text) })

const CLIENT = {
  schemes: {
    client: { type: 'http', scheme: 'basic', description: 'The id of a service key, and the key' },
  },
  problems: [clientRejected, ...KEY_PROBLEMS],
}

const oauthTag = { tags: ['OAuth 2.0'], problemForm: describeOAuthErrors }

const tokenSchema = ({ problems = [] }: Partial<OAuthExtension>) => ({
  ...oauthTag,
  operationId: 'clientToken',
  summary: 'Tokens for a service key, a code or a refresh token (RFC 6749)',
  access: [CLIENT],
  readsBody: { [FORM]: GrantForm },
  response: { 200: TokenReply },
  problems: [requestInvalid, grantUnsupported, scopeInvalid, ...problems],
})

const INTROSPECT = {
  ...oauthTag,
  operationId: 'introspect',
  summary: 'Whether a token is active (RFC 7662)',
  access: [CLIENT],
  readsBody: { [FORM]: TokenForm },
  response: { 200: IntrospectionReply },
  problems: [requestInvalid],
}

const REVOKE = {
  ...oauthTag,
  operationId: 'revoke',
  summary: 'End the session of a token (RFC 7009)',
  readsBody: { [FORM]: TokenForm },
  response: { 200: bareReply({ description: 'The token is no longer valid, or never was' }) },
  problems: [requestInvalid, tokenUnsupported],
}

const StatusReply = Type.Object({ enabled: Type.Boolean() }, { title: 'UserStatus' })

/** For services that trust our tokens and hold a user's data: they can ask about the user without a token. */
export function userStatusRoute(
  server: Server,
  { accounts }: OAuth,
  guard: AccountGuard<Scope>,
): void {
  server.get('/api/users/:id/status', {
    onRequest: guard.role(ADMIN_ROLE, INTROSPECTION_SCOPE),
    schema: {
      operationId: 'userStatus',
      summary: 'Whether a user is enabled',
      tags: ['Users'],
      params: IdPath,
      response: { 200: StatusReply },
      problems: [userUnknown],
    },
    handler: async ({ params }) => {
      const { enabled } = await requireUser(accounts, pathId(params.id, { unknown: userUnknown }))
      return { enabled }
    },
  })
}

type Options = { publicUrl: string; keyGuard: KeyGuard }

/** metadata · token · introspect · revoke */
export function oauthRoutes(server: Server, oauth: OAuth, options: Options): void {
  metadataRoutes(server, oauth, options)
  inFormScope(server, (scope) => {
    shareWithEveryone(scope, ['/oauth2/token', '/oauth2/revoke'])
    const { keyGuard } = options
    const bodyLimit = CREDENTIALS_BODY_BYTES
    const schema = tokenSchema({ ...oauth.extension })

    const counted = countGrants(server, oauth)
    scope.post('/oauth2/token', { bodyLimit, schema }, (request) =>
      counted(request, async () => {
        const reply = await grantToClient(oauth, request)
        if (reply) return reply
        const client = await authenticateClient(request, keyGuard)
        const grant = { grantType: field(request, 'grant_type'), scope: field(request, 'scope') }
        return grantToken(oauth, client, grant)
      }),
    )

    scope.post('/oauth2/introspect', { bodyLimit, schema: INTROSPECT }, async (request) => {
      const { scopes } = await authenticateClient(request, keyGuard)
      if (!scopes.includes(INTROSPECTION_SCOPE)) throw notAllowedToIntrospect()
      return introspect(oauth, requiredToken(request))
    })

    scope.post('/oauth2/revoke', { bodyLimit, schema: REVOKE }, async (request, reply) => {
      await revoke(oauth, requiredToken(request), originOf(request))
      return reply.send()
    })
  })
}

/** Counts by the types that we know: what others send must not become labels. */
function countGrants(server: Server, oauth: OAuth) {
  const count = server.metrics.counter({
    name: 'plinth_grants_total',
    help: 'Requests at the token endpoint, by grant type and result.',
    labels: ['grant_type', 'result'],
  })
  const types = grantTypesOf(oauth)
  for (const grant_type of types) count({ grant_type: shortOf(grant_type), result: 'issued' }, 0)
  return async <R>(request: Request, work: () => Promise<R>): Promise<R> => {
    const { body } = request
    const given = body instanceof URLSearchParams ? body.get('grant_type') : null
    const grant_type = shortOf(types.find((type) => type === given) ?? 'other')
    try {
      const reply = await work()
      count({ grant_type, result: 'issued' })
      return reply
    } catch (error) {
      count({ grant_type, result: error instanceof Problem ? errorOf(error) : 'server_error' })
      throw error
    }
  }
}

/** `device_code` of `urn:ietf:params:oauth:grant-type:device_code`. */
function shortOf(type: string): string {
  return type.split(':').at(-1) ?? type
}

/** The grants of registered clients; undefined for a service key. */
async function grantToClient({ extension }: OAuth, request: Request) {
  const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
  const { authorization } = request.headers
  return extension?.grant(field(request, 'grant_type'), {
    form,
    authorization,
    origin: originOf(request),
  })
}

/**
 * Public, for pages of any origin. RFC 8414: the path of the issuer, if any, follows the well-known path; OpenID
 * Connect Discovery has it in front, where it is part of the base path.
 */
function metadataRoutes(server: Server, oauth: OAuth, { publicUrl }: Options): void {
  const metadata = metadataOf(oauth, publicUrl)
  const path = new URL(metadata.issuer).pathname.replace(/\/+$/, '')
  const schema = {
    operationId: 'authorizationServerMetadata',
    summary: 'Endpoints and capabilities, for OAuth libraries (RFC 8414)',
    tags: ['OAuth 2.0'],
    response: { 200: replyWith({ headers: ['Cache-Control'] }, MetadataReply) },
  }
  const documents = oauth.extension ? [METADATA, OPENID_METADATA] : [METADATA]
  for (const route of new Set(documents.flatMap((name) => [name, name + path]))) {
    answerPreflights(server, route)
    server.get(route, { schema: { ...schema, hide: route !== METADATA } }, (_request, reply) => {
      reply.header('cache-control', `public, max-age=${METADATA_SECONDS}`)
      reply.header('access-control-allow-origin', '*')
      return metadata
    })
  }
}

/** RFC 6749, section 2.3.1: the key is the Basic password or `client_secret`. Bearer is accepted too. */
async function authenticateClient(request: Request, guard: KeyGuard): Promise<KeyCaller> {
  const { id, key, scheme } = credentialsOf(request)
  // RFC 6749, section 5.2: the challenge uses the client's scheme.
  const headers = { 'www-authenticate': `${scheme} realm="oauth2"` }
  if (!key) throw clientRejected({ headers })
  const client = await guard.authenticate(request, key).catch((error: unknown) => {
    const isUnknown = error instanceof Problem && error.status === 401
    throw isUnknown ? clientRejected({ detail: error.message, headers }) : error
  })
  const names = [client.userId, String(client.keyId), `key-${client.keyId}`]
  if (id !== undefined && !names.includes(id)) throw clientRejected({ headers })
  request.caller = client
  return client
}

type Credentials = { id?: string | undefined; key: string | undefined; scheme: string }

function credentialsOf(request: Request): Credentials {
  const [, scheme = '', value = ''] =
    /^(basic|bearer) +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  if (scheme.toLowerCase() === 'bearer') return { key: value, scheme: 'Bearer' }
  if (scheme === '')
    return {
      id: field(request, 'client_id'),
      key: field(request, 'client_secret'),
      scheme: 'Basic',
    }
  const [id = '', key = ''] = Buffer.from(value, 'base64').toString('utf8').split(':', 2)
  return { id: formDecoded(id), key: formDecoded(key), scheme: 'Basic' }
}

function formDecoded(text: string): string {
  return new URLSearchParams(`x=${text}`).get('x') ?? ''
}

/** RFC 7662, section 2.3: 401 for insufficient privileges too. */
function notAllowedToIntrospect() {
  const challenge = `Bearer error="insufficient_scope", scope="${INTROSPECTION_SCOPE}"`
  return clientRejected({
    detail: `This needs a service key with the scope ${INTROSPECTION_SCOPE}.`,
    headers: { 'www-authenticate': challenge },
  })
}

function requiredToken(request: Request): string {
  const token = field(request, 'token')
  if (token === undefined) throw requestInvalid({ detail: 'The parameter token is missing.' })
  return token
}

/** A blank value counts as absent. RFC 6749, section 3.2, forbids repeated parameters. */
function field({ body }: Request, name: string): string | undefined {
  const values = body instanceof URLSearchParams ? body.getAll(name) : []
  if (values.length > 1) throw requestInvalid({ detail: `The parameter ${name} is repeated.` })
  return values[0] || undefined
}
