import {
  type AccountGuard,
  ADMIN_ROLE,
  byCaller,
  lastAdministrator,
  originOf,
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
import type { Scope } from '../scopes.ts'
import { tokenRejected } from '../tokens/problems.ts'
import { deletedUsers } from './deleted-users.ts'
import {
  type Deletions,
  deleteByAdministrator,
  deleteOwnAccount,
  keepAccount,
  keepOwnAccount,
} from './deletion.ts'
import { noDeletion } from './problems.ts'
import { DeletedUsersQuery, DeletedUsersReply, DeletionReply, KeepBody } from './schemas.ts'

const own = ['Own account']
const administration = ['Users']
const userIdOf = (id: string) => pathId(id, { unknown: userUnknown })

type Guards = { guard: AccountGuard<Scope>; recent: Guard }

/** delete · cancel deletion of the own account; for administrators, of any account, with a reason · erased users */
export function deletionRoutes(
  server: Server,
  deletions: Deletions,
  { guard, recent }: Guards,
): void {
  server.delete('/api/users/me', {
    onRequest: [guard.caller, recent],
    schema: {
      operationId: 'deleteOwnAccount',
      summary: 'Have your account erased; ends every session, and can be cancelled',
      tags: own,
      response: { 202: DeletionReply },
      problems: [lastAdministrator],
    },
    handler: (request) => deleteOwnAccount(deletions, request.caller, originOf(request)),
  })

  server.post('/api/users/me/deletion/cancel', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: {
      operationId: 'keepOwnAccount',
      summary: 'Cancel the erasure, with the token of the mail or of a refused login',
      tags: own,
      body: KeepBody,
      response: { 204: noContent },
      problems: [tokenRejected],
    },
    handler: (request) => keepOwnAccount(deletions, request.body.token, originOf(request)),
  })

  administrationRoutes(server, deletions, { guard, recent })
}

function administrationRoutes(
  server: Server,
  deletions: Deletions,
  { guard, recent }: Guards,
): void {
  const admin = guard.role(ADMIN_ROLE)

  server.delete('/api/users/:id', {
    onRequest: [admin, recent],
    schema: {
      operationId: 'deleteUser',
      summary: 'Have an account erased after the grace period; ends every session',
      tags: administration,
      params: IdPath,
      body: WhyBody,
      response: { 202: DeletionReply },
      problems: [userUnknown, lastAdministrator],
    },
    handler: (request) =>
      deleteByAdministrator(deletions, userIdOf(request.params.id), byCaller(request)),
  })

  server.post('/api/users/:id/deletion/cancel', {
    onRequest: admin,
    preValidation: emptyBody,
    schema: {
      operationId: 'keepUser',
      summary: 'Cancel the erasure of an account',
      tags: administration,
      params: IdPath,
      body: WhyBody,
      response: { 204: noContent },
      problems: [userUnknown, noDeletion],
    },
    handler: (request) => keepAccount(deletions, userIdOf(request.params.id), byCaller(request)),
  })

  server.get('/api/users/deleted', {
    onRequest: guard.role(ADMIN_ROLE, 'tokens:introspect'),
    schema: {
      operationId: 'deletedUsers',
      summary: 'Erased users, oldest first, for services that store user data',
      tags: administration,
      querystring: DeletedUsersQuery,
      response: { 200: DeletedUsersReply },
    },
    handler: ({ query }) => deletedUsers(deletions.accounts, query.after),
  })
}
