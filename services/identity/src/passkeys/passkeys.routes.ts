import { type AccountGuard, originOf, TokenPairReply } from '@plinth/accounts'
import {
  basePathOf,
  CREDENTIALS_BODY_BYTES,
  type Guard,
  guarding,
  noContent,
  type Request,
  replyWith,
  type Server,
} from '@plinth/kit/http'
import { loginPendingDeletion } from '../recovery/problems.ts'
import type { CsrfTokens } from './csrf.ts'
import { authenticationOptions, logInWithPasskey } from './login.ts'
import { type Passkeys, removeOwnPasskey } from './passkeys.ts'
import {
  csrfTokenRejected,
  passkeyNotAdded,
  passkeyNotYours,
  passkeyRejected,
  passkeysDisabled,
} from './problems.ts'
import { registerPasskey, registrationOptions } from './registration.ts'
import {
  AssertionBody,
  CreationOptions,
  CredentialPath,
  CsrfReply,
  NewPasskeyBody,
  RegisteredReply,
  RelatedOriginsReply,
  RequestOptions,
} from './schemas.ts'

const CSRF_COOKIE = 'XSRF-TOKEN'
const CSRF_HEADERS = ['x-xsrf-token', 'x-csrf-token']

const CSRF = {
  schemes: {
    csrf: {
      type: 'apiKey',
      in: 'header',
      name: 'X-XSRF-TOKEN',
      description: 'The token of `GET /webauthn/csrf`, with the cookie that came with it',
    },
  },
  problems: [csrfTokenRejected, passkeysDisabled],
}

const tags = ['Passkeys']

/** csrf · register · authenticate · delete. Checked in order: CSRF, the caller, recent reauthentication. */
export function passkeyRoutes(
  server: Server,
  passkeys: Passkeys,
  { guard, recent, csrf }: { guard: AccountGuard; recent: Guard; csrf: CsrfTokens },
): void {
  const requireCsrf = csrfGuard(csrf)
  const forCaller = { onRequest: [requireCsrf, guard.caller, recent] }
  csrfRoute(server, csrf)
  relatedOriginsRoute(server, passkeys)
  loginRoutes(server, passkeys, requireCsrf)

  server.post('/webauthn/register/options', {
    ...forCaller,
    schema: {
      operationId: 'passkeyCreationOptions',
      summary: 'Options for navigator.credentials.create',
      tags,
      response: { 200: CreationOptions },
    },
    handler: ({ caller }) => registrationOptions(passkeys, caller),
  })

  server.post('/webauthn/register', {
    ...forCaller,
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: {
      operationId: 'addPasskey',
      summary: 'Add the passkey that the browser made',
      tags,
      body: NewPasskeyBody,
      response: { 200: RegisteredReply },
      problems: [passkeyNotAdded],
    },
    handler: async (request) => {
      await registerPasskey(passkeys, request.caller, request.body.publicKey, originOf(request))
      return { success: true }
    },
  })

  server.delete('/webauthn/register/:credentialId', {
    ...forCaller,
    schema: {
      operationId: 'removePasskey',
      summary: 'Remove one of your passkeys',
      tags,
      params: CredentialPath,
      response: { 204: noContent },
      problems: [passkeyNotYours],
    },
    handler: async (request) => {
      const { credentialId } = request.params
      await removeOwnPasskey(passkeys, request.caller, credentialId, originOf(request))
    },
  })
}

/** Browsers check here whether a page elsewhere may use these passkeys. */
function relatedOriginsRoute(server: Server, { relyingParty }: Passkeys): void {
  const { relatedOrigins } = relyingParty
  if (!relatedOrigins) return
  const schema = {
    operationId: 'relatedOrigins',
    summary: 'Which other origins may use these passkeys',
    tags,
    response: { 200: RelatedOriginsReply },
  }
  server.get('/.well-known/webauthn', { schema }, () => ({ origins: relatedOrigins }))
}

function csrfRoute(server: Server, csrf: CsrfTokens): void {
  const schema = {
    operationId: 'csrfToken',
    summary: 'The token that the passkey calls need',
    tags,
    response: { 200: replyWith({ headers: ['Set-Cookie'] }, CsrfReply) },
  }
  server.get('/webauthn/csrf', { schema }, (request, reply) => {
    const token = csrf.tokenFor(cookieOf(request))
    const path = basePathOf(request) || '/'
    reply.header(
      'set-cookie',
      `${CSRF_COOKIE}=${token}; Path=${path}; SameSite=Strict${isHttps(request) ? '; Secure' : ''}`,
    )
    return { headerName: 'X-XSRF-TOKEN', parameterName: '_csrf', token } as const
  })
}

/** Over plain http, browsers reject `Secure` cookies and other clients do not send them back. */
function isHttps({ server, protocol }: Request): boolean {
  return protocol === 'https' || (server.publicUrl?.startsWith('https:') ?? false)
}

function csrfGuard(csrf: CsrfTokens): Guard {
  return guarding(CSRF, async (request) => {
    const token = CSRF_HEADERS.map((name) => request.headers[name]).find((value) => value)
    csrf.requireToken(token, cookieOf(request))
  })
}

function cookieOf(request: Request): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const prefix = `${CSRF_COOKIE}=`
  return pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length)
}

function loginRoutes(server: Server, passkeys: Passkeys, requireCsrf: Guard): void {
  server.post('/webauthn/authenticate/options', {
    onRequest: requireCsrf,
    schema: {
      operationId: 'passkeyRequestOptions',
      summary: 'Options for navigator.credentials.get',
      tags,
      response: { 200: RequestOptions },
    },
    handler: () => authenticationOptions(passkeys),
  })

  server.post('/login/webauthn', {
    onRequest: requireCsrf,
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: {
      operationId: 'logInWithPasskey',
      summary: 'Sign in with a passkey',
      tags,
      readsBody: { 'application/json': AssertionBody },
      response: { 200: TokenPairReply },
      problems: [
        passkeyRejected,
        loginPendingDeletion,
        ...(passkeys.accounts.gate?.problems ?? []),
      ],
    },
    handler: (request) => logInWithPasskey(passkeys, request.body, originOf(request)),
  })
}

/** When passkeys are switched off, ceremonies are refused, but the CSRF token still works. */
export function disabledPasskeyRoutes(server: Server, csrf: CsrfTokens): void {
  // In a hook too, because a malformed body would be refused before the handler runs.
  const refuse = async () => {
    throw passkeysDisabled()
  }
  csrfRoute(server, csrf)
  for (const [operationId, method, url] of [
    ['passkeyCreationOptions', 'POST', '/webauthn/register/options'],
    ['addPasskey', 'POST', '/webauthn/register'],
    ['removePasskey', 'DELETE', '/webauthn/register/:credentialId'],
    ['passkeyRequestOptions', 'POST', '/webauthn/authenticate/options'],
    ['logInWithPasskey', 'POST', '/login/webauthn'],
  ] as const) {
    const summary = 'Refused: passkeys are switched off'
    const schema = { operationId, summary, tags, problems: [passkeysDisabled] }
    server.route({ method, url, schema, onRequest: refuse, handler: refuse })
  }
}
