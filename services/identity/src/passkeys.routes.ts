import { type AccountGuard, originOf, TokenPairReply } from '@plinth/accounts'
import { type Server, Type } from '@plinth/kit'
import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { CSRF_COOKIE, type CsrfTokens } from './csrf.ts'
import type { Identity } from './identity.ts'
import { authenticationOptions, logInWithPasskey } from './passkey-login.ts'
import { registerPasskey, registrationOptions } from './passkey-registration.ts'
import { ownPasskeys, removePasskey } from './passkeys.ts'
import { passkeysDisabled } from './problems.ts'

// Written so that one pass decides: a pattern with two open ends takes hours over a megabyte.
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

/** csrf · register · authenticate · list · delete. CSRF is checked first, then the caller. */
export function passkeyRoutes(
  server: Server,
  identity: Identity,
  { guard, csrf }: { guard: AccountGuard; csrf: CsrfTokens },
): void {
  const forCaller = { onRequest: [csrf.guard, guard.caller] }
  csrfRoute(server, csrf)
  loginRoutes(server, identity, csrf)

  server.post('/webauthn/register/options', {
    ...forCaller,
    handler: ({ caller }) => registrationOptions(identity, caller),
  })

  server.post('/webauthn/register', {
    ...forCaller,
    schema: { body: NewPasskeyBody },
    handler: async (request) => {
      await registerPasskey(identity, request.caller, request.body.publicKey, originOf(request))
      return { success: true }
    },
  })

  server.delete('/webauthn/register/:credentialId', {
    ...forCaller,
    schema: { params: CredentialPath },
    handler: async (request, reply) => {
      const { credentialId } = request.params
      await removePasskey(identity, request.caller, credentialId, originOf(request))
      return reply.code(204).send()
    },
  })

  server.get('/api/users/me/passkeys', {
    onRequest: guard.caller,
    handler: ({ caller }) => ownPasskeys(identity, caller),
  })
}

function csrfRoute(server: Server, csrf: CsrfTokens): void {
  server.get('/webauthn/csrf', (request, reply) => {
    const token = csrf.tokenFor(request)
    // Plain http has no `Secure` cookies, and clients other than browsers would not send one.
    const secure = request.protocol === 'https' ? '; Secure' : ''
    reply.header('set-cookie', `${CSRF_COOKIE}=${token}; Path=/; SameSite=Strict${secure}`)
    return { headerName: 'X-XSRF-TOKEN', parameterName: '_csrf', token }
  })
}

function loginRoutes(server: Server, identity: Identity, csrf: CsrfTokens): void {
  server.post('/webauthn/authenticate/options', {
    onRequest: csrf.guard,
    handler: () => authenticationOptions(identity),
  })

  server.post('/login/webauthn', {
    onRequest: csrf.guard,
    schema: { response: { 200: TokenPairReply } },
    handler: (request) => logInWithPasskey(identity, request.body, originOf(request)),
  })
}

/** With passkeys switched off every one of these paths says so. */
export function disabledPasskeyRoutes(server: Server, guard: AccountGuard): void {
  const refuse = () => {
    throw passkeysDisabled()
  }
  server.get('/webauthn/csrf', refuse)
  server.post('/webauthn/register/options', refuse)
  server.post('/webauthn/register', refuse)
  server.delete('/webauthn/register/:credentialId', refuse)
  server.post('/webauthn/authenticate/options', refuse)
  server.post('/login/webauthn', refuse)
  server.get('/api/users/me/passkeys', { onRequest: guard.caller, handler: refuse })
}
