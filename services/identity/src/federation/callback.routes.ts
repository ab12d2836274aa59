import {
  acceptForms,
  inScope,
  queryOf,
  type Reply,
  type Request,
  type Server,
  Type,
} from '@plinth/kit/http'
import { newOpaqueToken } from '@plinth/kit/tokens'
import { FEDERATION_SECONDS } from '../limits.ts'
import type { Federation } from './federation.ts'
import { answerSignIn, openSignIn } from './requests.ts'
import { ProviderPath } from './schemas.ts'

/** An answer of Apple includes a name of any length. */
const MAX_FORM_BYTES = 16 * 1024

const OpeningQuery = Type.Object({ request: Type.Optional(Type.String()) })

// Browsers navigate to these; they are no calls of an application.
const schema = { hide: true, params: ProviderPath }

/** open, which leads to the provider · callback, which leads back to the application */
export function callbackRoutes(server: Server, federation: Federation): void {
  server.get('/federation/:provider/open', {
    schema: { ...schema, querystring: OpeningQuery },
    handler: async (request, reply) => {
      const browser = browserOf(federation, request) ?? newOpaqueToken()
      const opened = { opening: request.query.request ?? '', browser }
      const target = await openSignIn(federation, request.params.provider, opened)
      reply.header('set-cookie', cookieFor(federation, browser))
      return leaveFor(reply, target)
    },
  })

  server.get('/federation/:provider/callback', {
    schema,
    handler: async (request, reply) => {
      const parameters = queryOf(request)
      const state = parameters.get('state') ?? ''
      const answer = { state, browser: browserOf(federation, request) ?? '', parameters }
      return leaveFor(reply, await answerSignIn(federation, request.params.provider, answer))
    },
  })

  // A post from another site brings no Lax cookie; the navigation that follows does.
  inScope(server, (scope) => {
    acceptForms(scope)
    scope.post<{ Params: { provider: string } }>(
      '/federation/:provider/callback',
      { schema, bodyLimit: MAX_FORM_BYTES },
      (request, reply) => leaveFor(reply, `?${answerIn(request.body)}`),
    )
  })
}

const ANSWERED = ['state', 'code', 'iss', 'error']

/** Without what else was posted, such as a name: addresses are logged. */
function answerIn(body: unknown): string {
  const posted = body instanceof URLSearchParams ? body : new URLSearchParams()
  return new URLSearchParams([...posted].filter(([name]) => ANSWERED.includes(name))).toString()
}

function leaveFor(reply: Reply, target: string): Reply {
  return reply
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .redirect(target, 303)
}

/** `__Host-` keeps other hosts of the domain from planting one. Over http browsers refuse the prefix. */
function cookieName({ publicUrl }: Federation): string {
  return publicUrl.startsWith('https:') ? '__Host-plinth-federation' : 'plinth-federation'
}

const VALUE = /^[A-Za-z0-9_-]{43}$/

/** All tabs of a browser share it, so that two of them can sign in. */
function browserOf(federation: Federation, { headers }: Request): string | undefined {
  const prefix = `${cookieName(federation)}=`
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const value = pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length) ?? ''
  return VALUE.test(value) ? value : undefined
}

function cookieFor(federation: Federation, browser: string): string {
  const rules = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${FEDERATION_SECONDS}`
  const secure = federation.publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${cookieName(federation)}=${browser}; ${rules}${secure}`
}
