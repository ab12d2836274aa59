import { type Guard, pathId, positiveInteger, type Server, sendFile, Type } from '@plinth/kit'
import { representationOf } from '../bytes.ts'
import type { Storage } from '../storage.ts'
import {
  createLink,
  fileBehindLink,
  LONGEST_LINK_SECONDS,
  linkHeaders,
  linksOf,
  revokeLink,
} from './links.ts'

type ByToken = { Params: { token: string } }
type ById = { Params: { id: string } }
type ByLink = { Params: { id: string; linkId: string } }

const LinkBody = Type.Object({
  id: positiveInteger(),
  expiresInSeconds: positiveInteger(LONGEST_LINK_SECONDS),
})

export function linkRoutes(server: Server, storage: Storage, caller: Guard): void {
  server.post('/file/generate-pre-signed-url', {
    onRequest: caller,
    schema: { body: LinkBody },
    handler: ({ caller, body }) => createLink(storage, caller, body),
  })

  server.get<ByToken>('/file/presigned/:token', {
    handler: async (request, reply) => {
      const counted = request.method === 'GET'
      const file = await fileBehindLink(storage, request.params.token, { counted })
      const headers = linkHeaders(storage, file)
      return sendFile(request, reply, { ...representationOf(storage, file, 'inline'), headers })
    },
  })

  server.get<ById>('/file/:id/links', {
    onRequest: caller,
    handler: ({ caller, params }) => linksOf(storage, caller, pathId(params.id)),
  })

  server.delete<ByLink>('/file/:id/links/:linkId', {
    onRequest: caller,
    handler: async ({ caller, params }, reply) => {
      const link = { fileId: pathId(params.id), linkId: pathId(params.linkId, { name: 'linkId' }) }
      await revokeLink(storage, caller, link)
      return reply.code(204).send()
    },
  })
}
