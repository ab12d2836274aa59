import {
  type AccountGuard,
  ADMIN_ROLE,
  byCaller,
  requireUser,
  userUnknown,
  WhyBody,
} from '@plinth/accounts'
import { emptyBody, type Guard, IdPath, noContent, pathId, type Server } from '@plinth/kit/http'
import { type PasskeyRecords, passkeysOf, removePasskeys } from './passkeys.ts'
import { passkeyUnknown } from './problems.ts'
import { PasskeysReply, UserCredentialPath } from './schemas.ts'

const tags = ['Passkeys']

type Guards = { guard: AccountGuard; recent: Guard }

/** Own passkeys and, for administrators, those of any user; available even where passkeys are switched off. */
export function passkeyRecordRoutes(
  server: Server,
  passkeys: PasskeyRecords,
  guards: Guards,
): void {
  server.get('/api/users/me/passkeys', {
    onRequest: guards.guard.caller,
    schema: {
      operationId: 'passkeys',
      summary: 'Your passkeys',
      tags,
      response: { 200: PasskeysReply },
    },
    handler: ({ caller }) => passkeysOf(passkeys, Number(caller.userId)),
  })

  administrationRoutes(server, passkeys, guards)
}

function administrationRoutes(server: Server, passkeys: PasskeyRecords, guards: Guards): void {
  const { guard, recent } = guards
  const admin = guard.role(ADMIN_ROLE)
  const userIdOf = (id: string) => pathId(id, { unknown: userUnknown })

  server.get('/api/users/:id/passkeys', {
    onRequest: admin,
    schema: {
      operationId: 'passkeysOfUser',
      summary: 'The passkeys of a user',
      tags,
      params: IdPath,
      response: { 200: PasskeysReply },
      problems: [userUnknown],
    },
    handler: async ({ params }) => {
      const { id } = await requireUser(passkeys.accounts, userIdOf(params.id))
      return passkeysOf(passkeys, id)
    },
  })

  server.delete('/api/users/:id/passkeys', {
    onRequest: [admin, recent],
    preValidation: emptyBody,
    schema: {
      operationId: 'removePasskeysOfUser',
      summary: 'Remove all passkeys of a user',
      tags,
      params: IdPath,
      body: WhyBody,
      response: { 204: noContent },
      problems: [userUnknown],
    },
    handler: (request) =>
      removePasskeys(passkeys, userIdOf(request.params.id), 'all', byCaller(request)),
  })

  server.delete('/api/users/:id/passkeys/:credentialId', {
    onRequest: [admin, recent],
    preValidation: emptyBody,
    schema: {
      operationId: 'removePasskeyOfUser',
      summary: 'Remove one passkey of a user',
      tags,
      params: UserCredentialPath,
      body: WhyBody,
      response: { 204: noContent },
      problems: [userUnknown, passkeyUnknown],
    },
    handler: async (request) => {
      const { id, credentialId } = request.params
      await removePasskeys(passkeys, userIdOf(id), { id: credentialId }, byCaller(request))
    },
  })
}
