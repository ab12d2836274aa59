import {
  type AccountGuard,
  ADMIN_ROLE,
  byCaller,
  originOf,
  requireUser,
  TokenPairReply,
  userUnknown,
} from '@plinth/accounts'
import {
  basePathOf,
  CREDENTIALS_BODY_BYTES,
  type Guard,
  IdPath,
  pathId,
  type Request,
  type Server,
  Type,
} from '@plinth/kit'
import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import type { CsrfTokens } from './csrf.ts'
import { authenticationOptions, logInWithPasskey } from './login.ts'
import {
  type PasskeyRecords,
  type Passkeys,
  passkeysOf,
  removeOwnPasskey,
  removePasskeys,
} from './passkeys.ts'
import { passkeysDisabled } from './problems.ts'
import { registerPasskey, registrationOptions } from './registration.ts'

const CSRF_COOKIE = 'XSRF-TOKEN'
const CSRF_HEADERS = ['x-xsrf-token', 'x-csrf-token']

// Matches in one pass: a pattern that is open at both ends takes hours for a megabyte.
const LABEL = '^(?=[^]*\\S)[^\\p{Cc}\\p{Cs}]*$'

const NewPasskeyBody = Type.Object({
  publicKey: Type.Object({
    credential: Type.Unsafe<RegistrationResponseJSON>(Type.Object({})),
    label: Type.String({
      pattern: LABEL,
      maxLength: 100,
      message: 'must not be blank',
    }),
  }),
})

const CredentialPath = Type.Object({ credentialId: Type.String() })
const UserCredentialPath = Type.Object({ id: Type.String(), credentialId: Type.String() })

/** csrf · register · authenticate · list · delete. CSRF is checked first, then the caller. */
export function passkeyRoutes(
  server: Server,
  passkeys: Passkeys,
  { guard, csrf }: { guard: AccountGuard; csrf: CsrfTokens },
): void {
  const requireCsrf = csrfGuard(csrf)
  const forCaller = { onRequest: [requireCsrf, guard.caller] }
  csrfRoute(server, csrf)
  loginRoutes(server, passkeys, requireCsrf)
  relatedOriginsRoute(server, passkeys)

  server.post('/webauthn/register/options', {
    ...forCaller,
    handler: ({ caller }) => registrationOptions(passkeys, caller),
  })

  server.post('/webauthn/register', {
    ...forCaller,
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: { body: NewPasskeyBody },
    handler: async (request) => {
      await registerPasskey(passkeys, request.caller, request.body.publicKey, originOf(request))
      return { success: true }
    },
  })

  server.delete('/webauthn/register/:credentialId', {
    ...forCaller,
    schema: { params: CredentialPath },
    handler: async (request, reply) => {
      const { credentialId } = request.params
      await removeOwnPasskey(passkeys, request.caller, credentialId, originOf(request))
      return reply.code(204).send()
    },
  })

  recordRoutes(server, passkeys, guard)
}

/** Where browsers look whether a page elsewhere may use these passkeys. */
function relatedOriginsRoute(server: Server, { relyingParty }: Passkeys): void {
  const { relatedOrigins } = relyingParty
  if (relatedOrigins) server.get('/.well-known/webauthn', () => ({ origins: relatedOrigins }))
}

/** Own passkeys, and those of any user for administrators; also where passkeys are switched off. */
function recordRoutes(server: Server, passkeys: PasskeyRecords, guard: AccountGuard): void {
  const admin = guard.role(ADMIN_ROLE)
  const userIdOf = (id: string) => pathId(id, { unknown: userUnknown })

  server.get('/api/users/me/passkeys', {
    onRequest: guard.caller,
    handler: ({ caller }) => passkeysOf(passkeys, Number(caller.userId)),
  })

  server.get('/api/users/:id/passkeys', {
    onRequest: admin,
    schema: { params: IdPath },
    handler: async ({ params }) => {
      const { id } = await requireUser(passkeys.accounts, userIdOf(params.id))
      return passkeysOf(passkeys, id)
    },
  })

  server.delete('/api/users/:id/passkeys', {
    onRequest: admin,
    schema: { params: IdPath },
    handler: async (request, reply) => {
      await removePasskeys(passkeys, userIdOf(request.params.id), 'all', byCaller(request))
      return reply.code(204).send()
    },
  })

  server.delete('/api/users/:id/passkeys/:credentialId', {
    onRequest: admin,
    schema: { params: UserCredentialPath },
    handler: async (request, reply) => {
      const { id, credentialId } = request.params
      await removePasskeys(passkeys, userIdOf(id), { id: credentialId }, byCaller(request))
      return reply.code(204).send()
    },
  })
}

function csrfRoute(server: Server, csrf: CsrfTokens): void {
  server.get('/webauthn/csrf', (request, reply) => {
    const token = csrf.tokenFor(cookieOf(request))
    const path = basePathOf(request) || '/'
    reply.header(
      'set-cookie',
      `${CSRF_COOKIE}=${token}; Path=${path}; SameSite=Strict${isHttps(request) ? '; Secure' : ''}`,
    )
    return { headerName: 'X-XSRF-TOKEN', parameterName: '_csrf', token }
  })
}

/** Over plain http browsers reject `Secure` cookies, and other clients do not send them. */
function isHttps({ server, protocol }: Request): boolean {
  return protocol === 'https' || (server.publicUrl?.startsWith('https:') ?? false)
}

function csrfGuard(csrf: CsrfTokens): Guard {
  return async (request) => {
    const token = CSRF_HEADERS.map((name) => request.headers[name]).find((value) => value)
    csrf.requireToken(token, cookieOf(request))
  }
}

function cookieOf(request: Request): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const prefix = `${CSRF_COOKIE}=`
  return pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length)
}

function loginRoutes(server: Server, passkeys: Passkeys, requireCsrf: Guard): void {
  server.post('/webauthn/authenticate/options', {
    onRequest: requireCsrf,
    handler: () => authenticationOptions(passkeys),
  })

  server.post('/login/webauthn', {
    onRequest: requireCsrf,
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: { response: { 200: TokenPairReply } },
    handler: (request) => logInWithPasskey(passkeys, request.body, originOf(request)),
  })
}

/** When passkeys are switched off the ceremonies are refused; the list and the CSRF token work. */
export function disabledPasskeyRoutes(
  server: Server,
  passkeys: PasskeyRecords,
  { guard, csrf }: { guard: AccountGuard; csrf: CsrfTokens },
): void {
  const refuse = () => {
    throw passkeysDisabled()
  }
  csrfRoute(server, csrf)
  server.post('/webauthn/register/options', refuse)
  server.post('/webauthn/register', refuse)
  server.delete('/webauthn/register/:credentialId', refuse)
  server.post('/webauthn/authenticate/options', refuse)
  server.post('/login/webauthn', refuse)
  recordRoutes(server, passkeys, guard)
}
