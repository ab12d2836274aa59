import {
  type AccountGuard,
  ADMIN_ROLE,
  byCaller,
  originOf,
  tooManyFailures,
  userUnknown,
  WhyBody,
} from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  emptyBody,
  type Guard,
  IdPath,
  noContent,
  pathId,
  type Server,
} from '@plinth/kit/http'
import { allProviders, testProvider } from './administration.ts'
import type { Federation } from './federation.ts'
import {
  identitiesOf,
  identitiesOfUser,
  linkByToken,
  removeIdentity,
  unlinkIdentity,
} from './identities.ts'
import {
  identityInUse,
  identityUnknown,
  lastSignInMethod,
  providerUnavailable,
  providerUnknown,
  ticketInvalid,
} from './problems.ts'
import { startSignIn } from './requests.ts'
import {
  IdentitiesReply,
  LinkBody,
  ProviderDetailsReply,
  ProviderPath,
  ProviderTestReply,
  StartBody,
  StartReply,
  UserIdentityPath,
} from './schemas.ts'

const tags = ['Own account']
const bodyLimit = CREDENTIALS_BODY_BYTES

type Guards = { guard: AccountGuard; recent: Guard }

/** own identities: list, begin to link, link with a token, unlink · providers, for administrators */
export function identityRoutes(
  server: Server,
  federation: Federation,
  { guard, recent }: Guards,
): void {
  server.get('/api/users/me/identities', {
    onRequest: guard.caller,
    schema: {
      operationId: 'identities',
      summary: 'The accounts at providers that you can sign in with',
      tags,
      response: { 200: IdentitiesReply },
    },
    handler: ({ caller }) => identitiesOf(federation, Number(caller.userId)),
  })

  server.post('/api/users/me/identities', {
    bodyLimit,
    onRequest: [guard.caller, recent],
    schema: {
      operationId: 'linkIdentity',
      summary: 'Link the identity of a sign-in that was refused because you have an account',
      tags,
      body: LinkBody,
      response: { 200: IdentitiesReply },
      problems: [ticketInvalid, identityInUse],
    },
    handler: async (request) => {
      const { caller, body } = request
      await linkByToken(federation, caller, body.linkToken, originOf(request))
      return identitiesOf(federation, Number(caller.userId))
    },
  })

  server.post('/api/users/me/identities/:provider/start', {
    bodyLimit,
    onRequest: [guard.caller, recent],
    schema: {
      operationId: 'startIdentityLink',
      summary: 'Begin to link an account at a provider: returns the address to navigate to',
      tags,
      params: ProviderPath,
      body: StartBody,
      response: { 200: StartReply },
      problems: [providerUnknown, providerUnavailable, tooManyFailures],
    },
    handler: (request) => {
      const { params, body, caller } = request
      return startSignIn(federation, params.provider, body, originOf(request), caller)
    },
  })

  server.delete('/api/users/me/identities/:id', {
    onRequest: [guard.caller, recent],
    schema: {
      operationId: 'unlinkIdentity',
      summary: 'Unlink one of your identities',
      tags,
      params: IdPath,
      response: { 204: noContent },
      problems: [identityUnknown, lastSignInMethod],
    },
    handler: async (request) => {
      const id = pathId(request.params.id, { unknown: identityUnknown })
      await unlinkIdentity(federation, request.caller, id, originOf(request))
    },
  })

  administrationRoutes(server, federation, { admin: guard.role(ADMIN_ROLE), recent })
}

type AdministratorGuards = { admin: Guard; recent: Guard }

function administrationRoutes(
  server: Server,
  federation: Federation,
  guards: AdministratorGuards,
): void {
  const { admin: onRequest } = guards
  identitiesOfUserRoutes(server, federation, guards)

  server.get('/api/providers', {
    onRequest,
    schema: {
      operationId: 'providerDetails',
      summary: 'The providers of the settings, with the address to register at each',
      tags: ['Users'],
      response: { 200: ProviderDetailsReply },
    },
    handler: () => allProviders(federation),
  })

  server.post('/api/providers/:provider/test', {
    onRequest,
    schema: {
      operationId: 'testProvider',
      summary: 'Whether a provider answers',
      tags: ['Users'],
      params: ProviderPath,
      response: { 200: ProviderTestReply },
      problems: [providerUnknown],
    },
    handler: ({ params }) => testProvider(federation, params.provider),
  })
}

function identitiesOfUserRoutes(
  server: Server,
  federation: Federation,
  { admin, recent }: AdministratorGuards,
): void {
  const userIdOf = (id: string) => pathId(id, { unknown: userUnknown })

  server.get('/api/users/:id/identities', {
    onRequest: admin,
    schema: {
      operationId: 'identitiesOfUser',
      summary: 'The accounts at providers that a user can sign in with',
      tags: ['Users'],
      params: IdPath,
      response: { 200: IdentitiesReply },
      problems: [userUnknown],
    },
    handler: ({ params }) => identitiesOfUser(federation, userIdOf(params.id)),
  })

  server.delete('/api/users/:id/identities/:identityId', {
    onRequest: [admin, recent],
    preValidation: emptyBody,
    schema: {
      operationId: 'removeIdentityOfUser',
      summary: 'Remove an account at a provider from a user',
      tags: ['Users'],
      params: UserIdentityPath,
      body: WhyBody,
      response: { 204: noContent },
      problems: [userUnknown, identityUnknown],
    },
    handler: (request) => {
      const userId = userIdOf(request.params.id)
      const id = pathId(request.params.identityId, { unknown: identityUnknown })
      return removeIdentity(federation, { userId, id }, byCaller(request))
    },
  })
}
