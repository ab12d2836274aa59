import { type AccountGuard, ADMIN_ROLE, byCaller, originOf, userUnknown } from '@plinth/accounts'
import {
  emptyBody,
  IdPath,
  noContent,
  orNull,
  pathId,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { grantsOf, revokeGrant } from './grants.ts'
import type { OpenId } from './openid.ts'
import { grantUnknown } from './problems.ts'

const text = Type.String()

const GrantsReply = Type.Array(
  Type.Object(
    {
      client: Type.Object({
        clientId: text,
        name: Type.String({ examples: ['Wiki'] }),
        uri: orNull(text),
      }),
      scopes: Type.Array(Type.String({ examples: ['profile'] })),
      resources: Type.Array(text),
      createdAt: timestamp(),
      lastUsedAt: orNull(timestamp()),
    },
    { title: 'Grant' },
  ),
)

const ClientPath = Type.Object({ clientId: text })
const UserClientPath = Type.Object({ id: Type.String({ examples: ['1'] }), clientId: text })

/** What users have allowed applications: their own, and of any user for administrators. */
export function grantRoutes(server: Server, openid: OpenId, guard: AccountGuard): void {
  server.get('/api/users/me/grants', {
    onRequest: guard.caller,
    schema: {
      operationId: 'grants',
      summary: 'What you have allowed applications',
      tags: ['Own account'],
      response: { 200: GrantsReply },
    },
    handler: ({ caller }) => grantsOf(openid, Number(caller.userId)),
  })

  server.delete('/api/users/me/grants/:clientId', {
    onRequest: guard.caller,
    schema: {
      operationId: 'revokeGrant',
      summary: 'Take back what you have allowed an application; its sessions end',
      tags: ['Own account'],
      params: ClientPath,
      response: { 204: noContent },
      problems: [grantUnknown],
    },
    handler: (request) => {
      const key = { userId: Number(request.caller.userId), clientId: request.params.clientId }
      return revokeGrant(openid, key, { origin: originOf(request) })
    },
  })

  const admin = guard.role(ADMIN_ROLE)
  server.get('/api/users/:id/grants', {
    onRequest: admin,
    schema: {
      operationId: 'grantsOfUser',
      summary: 'What a user has allowed applications',
      tags: ['Users'],
      params: IdPath,
      response: { 200: GrantsReply },
      problems: [userUnknown],
    },
    handler: ({ params }) => grantsOf(openid, pathId(params.id, { unknown: userUnknown })),
  })

  server.delete('/api/users/:id/grants/:clientId', {
    onRequest: admin,
    preValidation: emptyBody,
    schema: {
      operationId: 'revokeGrantOfUser',
      summary: 'Take back what a user has allowed an application',
      tags: ['Users'],
      params: UserClientPath,
      response: { 204: noContent },
      problems: [userUnknown, grantUnknown],
    },
    handler: (request) => {
      const { id, clientId } = request.params
      const key = { userId: pathId(id, { unknown: userUnknown }), clientId }
      return revokeGrant(openid, key, byCaller(request))
    },
  })
}
