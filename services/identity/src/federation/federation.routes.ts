import {
  credentialsRejected,
  emailTaken,
  identifyCaller,
  originOf,
  registrationClosed,
  TokenPairReply,
  tooManyFailures,
} from '@plinth/accounts'
import { type Caller, CREDENTIALS_BODY_BYTES, type Request, type Server } from '@plinth/kit/http'
import { accessTokenRejected } from '@plinth/kit/problems'
import { codeRejected } from '../factors/problems.ts'
import { mailNotConfigured } from '../mail/problems.ts'
import { AcceptedReply } from '../mail/schemas.ts'
import { type Federation, publicProviders } from './federation.ts'
import {
  accountExists,
  emailNotVerifiedByProvider,
  identityInUse,
  providerUnavailable,
  providerUnknown,
  ticketInvalid,
} from './problems.ts'
import { startSignIn } from './requests.ts'
import {
  FinishBody,
  FinishReply,
  ProviderPath,
  ProvidersReply,
  SignUpBody,
  SignUpConfirmBody,
  StartBody,
  StartReply,
} from './schemas.ts'
import { finishSignIn } from './sign-in.ts'
import { confirmSignUp, requestSignUp } from './sign-up.ts'

const tags = ['Signing in']
const bodyLimit = CREDENTIALS_BODY_BYTES

/** providers · start · finish · sign up with an address of one's own */
export function federationRoutes(server: Server, federation: Federation): void {
  server.get('/api/auth/providers', {
    schema: {
      operationId: 'providers',
      summary: 'The providers that people can sign in with',
      tags,
      response: { 200: ProvidersReply },
    },
    handler: () => publicProviders(federation),
  })

  server.post('/api/auth/providers/:provider/start', {
    bodyLimit,
    schema: {
      operationId: 'startProviderSignIn',
      summary: 'Begin to sign in with a provider: returns the address to navigate to',
      tags,
      params: ProviderPath,
      body: StartBody,
      response: { 200: StartReply },
      problems: [providerUnknown, providerUnavailable, tooManyFailures],
    },
    handler: (request) =>
      startSignIn(federation, request.params.provider, request.body, originOf(request)),
  })

  server.post('/api/auth/providers/finish', {
    bodyLimit,
    schema: {
      operationId: 'finishProviderSignIn',
      summary: 'Sign in with the ticket or, with the token that began it, link an identity',
      tags,
      body: FinishBody,
      response: { 200: FinishReply },
      problems: [
        ticketInvalid,
        accessTokenRejected,
        credentialsRejected,
        registrationClosed,
        emailNotVerifiedByProvider,
        accountExists,
        emailTaken,
        identityInUse,
        tooManyFailures,
        ...problemsOfSignIns(federation),
      ],
    },
    handler: async (request) =>
      finishSignIn(
        federation,
        request.body,
        originOf(request),
        await callerOf(federation, request),
      ),
  })

  signUpRoutes(server, federation)
}

function signUpRoutes(server: Server, federation: Federation): void {
  server.post('/api/auth/providers/sign-up', {
    bodyLimit,
    schema: {
      operationId: 'requestProviderSignUp',
      summary: 'Ask for a code at an address that the provider has not verified',
      tags,
      body: SignUpBody,
      response: { 202: AcceptedReply },
      problems: [ticketInvalid, registrationClosed, mailNotConfigured],
    },
    handler: async (request) => {
      await requestSignUp(federation, request.body, originOf(request))
      return { message: 'A mail is on its way.' }
    },
  })

  server.post('/api/auth/providers/sign-up/confirm', {
    bodyLimit,
    schema: {
      operationId: 'confirmProviderSignUp',
      summary: 'Create the account with the code of the mail',
      tags,
      body: SignUpConfirmBody,
      response: { 200: TokenPairReply },
      problems: [
        ticketInvalid,
        codeRejected,
        registrationClosed,
        accountExists,
        emailTaken,
        identityInUse,
        credentialsRejected,
        tooManyFailures,
        ...problemsOfSignIns(federation),
      ],
    },
    handler: (request) => confirmSignUp(federation, request.body, originOf(request)),
  })
}

function problemsOfSignIns({ accounts: { gate, turnAway } }: Federation) {
  return [...(gate?.problems ?? []), ...(turnAway?.problems ?? [])]
}

/** Most callers have no token. One that is no longer valid is refused, so that its client refreshes it. */
async function callerOf(
  { accounts }: Federation,
  { headers: { authorization } }: Request,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  const [, token = ''] = /^Bearer (\S+)$/i.exec(authorization) ?? []
  const caller = await identifyCaller(accounts, token)
  if (!caller) throw accessTokenRejected()
  return caller
}
