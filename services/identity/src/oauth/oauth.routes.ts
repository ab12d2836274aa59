import { originOf } from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  handleProblems,
  type KeyCaller,
  type KeyGuard,
  type Request,
  type Server,
} from '@plinth/kit'
import { grantToken, introspect, metadataOf, type OAuth, revoke } from './oauth.ts'
import { clientRejected, renderOAuthError, requestInvalid } from './problems.ts'

const FORM = 'application/x-www-form-urlencoded'
const METADATA = '/.well-known/oauth-authorization-server'
const METADATA_SECONDS = 300
const INTROSPECTION_SCOPE = 'tokens:introspect'

type Options = { publicUrl: string; keyGuard: KeyGuard }

/** metadata · token · introspect · revoke */
export function oauthRoutes(server: Server, oauth: OAuth, options: Options): void {
  metadataRoutes(server, oauth, options)
  server.register(async (scope) => {
    handleProblems(scope as unknown as Server, renderOAuthError)
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
      done(null, new URLSearchParams(body as string))
    })
    const { keyGuard } = options
    const limits = { bodyLimit: CREDENTIALS_BODY_BYTES }

    scope.post('/oauth2/token', limits, async (request) => {
      const client = await authenticateClient(request, keyGuard)
      const grant = { grantType: field(request, 'grant_type'), scope: field(request, 'scope') }
      return grantToken(oauth, client, grant)
    })

    scope.post('/oauth2/introspect', limits, async (request) => {
      const { scopes } = await authenticateClient(request, keyGuard)
      if (!scopes.includes(INTROSPECTION_SCOPE)) throw notAllowedToIntrospect()
      return introspect(oauth, requiredToken(request))
    })

    scope.post('/oauth2/revoke', limits, async (request, reply) => {
      await revoke(oauth, requiredToken(request), originOf(request))
      return reply.send()
    })
  })
}

/** Public, and for pages of any origin. An issuer with a path has it behind the well-known part. */
function metadataRoutes(server: Server, oauth: OAuth, { publicUrl }: Options): void {
  const metadata = metadataOf(oauth, publicUrl)
  const path = new URL(metadata.issuer).pathname.replace(/\/+$/, '')
  for (const route of new Set([METADATA, METADATA + path]))
    server.get(route, (_request, reply) => {
      reply.header('cache-control', `public, max-age=${METADATA_SECONDS}`)
      reply.header('access-control-allow-origin', '*')
      return metadata
    })
}

/** RFC 6749, section 2.3.1: the key is the password of Basic or `client_secret`; also as Bearer. */
async function authenticateClient(request: Request, guard: KeyGuard): Promise<KeyCaller> {
  const { id, key, scheme } = credentialsOf(request)
  if (!key) throw clientRejected({ headers: { 'www-authenticate': `${scheme} realm="oauth2"` } })
  const client = await guard.authenticate(request, key)
  const names = [client.userId, String(client.keyId), `key-${client.keyId}`]
  if (id !== undefined && !names.includes(id)) throw clientRejected()
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

/** RFC 7662, section 2.3, has one answer for a caller who may not ask. */
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

/** Blank counts as absent; RFC 6749, section 3.2, allows no parameter twice. */
function field({ body }: Request, name: string): string | undefined {
  const values = body instanceof URLSearchParams ? body.getAll(name) : []
  if (values.length > 1) throw requestInvalid({ detail: `The parameter ${name} is repeated.` })
  return values[0] || undefined
}
