import { fileReplies, sendFile } from '@plinth/kit/files'
import {
  type Guard,
  IdPath,
  noContent,
  orNull,
  pathId,
  positiveInteger,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { issuerUnavailable, storageFull, storageReadOnly } from '@plinth/kit/problems'
import { representationOf, withContent } from '../bytes.ts'
import {
  fileNotFound,
  fileOfAnotherUser,
  linkNotFound,
  openedLinkNotFound,
  READ_PROBLEMS,
} from '../problems.ts'
import type { Storage } from '../storage.ts'
import {
  createLink,
  fileBehindLink,
  linkHeaders,
  linksOf,
  MAX_LINK_SECONDS,
  revokeLink,
} from './links.ts'

const LinkBody = Type.Object(
  { id: positiveInteger(), expiresInSeconds: positiveInteger(MAX_LINK_SECONDS) },
  { title: 'LinkRequest', examples: [{ id: 1, expiresInSeconds: 3600 }] },
)

const NewLinkReply = Type.Object(
  {
    id: Type.Integer({ description: 'The file' }),
    token: Type.String({ description: 'Shown only here' }),
    url: Type.String({ examples: ['http://localhost:8082/file/presigned/token'] }),
    expiresInSeconds: Type.Integer(),
    expiresAt: timestamp(),
  },
  { title: 'TemporaryLink' },
)

const LinksReply = Type.Array(
  Type.Object(
    {
      id: Type.Integer(),
      createdAt: timestamp(),
      expiresAt: timestamp(),
      openedCount: Type.Integer({ minimum: 0 }),
      lastOpenedAt: orNull(timestamp()),
    },
    { title: 'Link' },
  ),
)

const TokenPath = Type.Object({ token: Type.String() })
const LinkPath = Type.Object({
  id: Type.String({ examples: ['1'] }),
  linkId: Type.String({ examples: ['1'] }),
})

const tags = ['Links']

type LinkGuards = { read: Guard; links: Guard }

export function linkRoutes(server: Server, storage: Storage, guards: LinkGuards): void {
  server.post('/file/generate-pre-signed-url', {
    onRequest: guards.links,
    schema: {
      operationId: 'createLink',
      summary: 'Create a temporary link to a file',
      tags,
      body: LinkBody,
      response: { 200: NewLinkReply },
      problems: [fileNotFound, fileOfAnotherUser],
    },
    handler: ({ caller, body }) => createLink(storage, caller, body),
  })

  server.get('/file/presigned/:token', {
    schema: {
      operationId: 'openLink',
      summary: 'The file behind a temporary link',
      description: 'The token is the permission. Takes `Range` like a download.',
      tags,
      params: TokenPath,
      response: fileReplies(),
      problems: [
        openedLinkNotFound,
        storageFull,
        storageReadOnly,
        issuerUnavailable,
        ...READ_PROBLEMS,
      ],
    },
    handler: async (request, reply) => {
      const counted = request.method === 'GET'
      const file = await fileBehindLink(storage, request.params.token, { counted })
      const headers = linkHeaders(storage, file)
      return withContent(storage, file, (found) =>
        sendFile(request, reply, { ...representationOf(storage, found, 'inline'), headers }),
      )
    },
  })

  ownLinkRoutes(server, storage, guards)
}

function ownLinkRoutes(server: Server, storage: Storage, { read, links }: LinkGuards): void {
  server.get('/file/:id/links', {
    onRequest: read,
    schema: {
      operationId: 'links',
      summary: 'The links to a file that still work',
      tags,
      params: IdPath,
      response: { 200: LinksReply },
      problems: [fileNotFound, fileOfAnotherUser],
    },
    handler: ({ caller, params }) => linksOf(storage, caller, pathId(params.id)),
  })

  server.delete('/file/:id/links/:linkId', {
    onRequest: links,
    schema: {
      operationId: 'revokeLink',
      summary: 'Revoke a link',
      tags,
      params: LinkPath,
      response: { 204: noContent },
      problems: [fileNotFound, fileOfAnotherUser, linkNotFound],
    },
    handler: async ({ caller, params }) => {
      const link = { fileId: pathId(params.id), linkId: pathId(params.linkId, { name: 'linkId' }) }
      await revokeLink(storage, caller, link)
    },
  })
}
