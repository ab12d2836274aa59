import { Readable } from 'node:stream'
import {
  type AccountGuard,
  ADMIN_ROLE,
  byCaller,
  originOf,
  userUnknown,
  WhyBody,
} from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  type Guard,
  IdPath,
  orNull,
  pathId,
  type Server,
  Type,
} from '@plinth/kit/http'
import { mailNotConfigured } from '../mail/problems.ts'
import { AcceptedReply, TokenBody } from '../mail/schemas.ts'
import { tokenRejected } from '../tokens/problems.ts'
import { type DataExport, exportByMail, exportUser, requestExport } from './export.ts'

const own = ['Own account']
const one = Type.Object({}, { additionalProperties: {} })
const list = Type.Array(one)

const ExportReply = Type.Object(
  {
    exportedAt: Type.String({ format: 'date-time', examples: ['2030-01-01T12:00:00.000Z'] }),
    profile: one,
    sessions: list,
    passkeys: list,
    identities: list,
    secondFactor: orNull(one),
    knownBrowsers: list,
    grants: list,
    serviceKeys: list,
    mails: list,
    elsewhere: Type.Object({ files: Type.String(), payments: Type.String() }),
    audit: list,
  },
  { title: 'DataExport' },
)

// `Unsafe`, because the reply is streamed and the framework must not serialise it.
const file = { 200: Type.Unsafe<unknown>(ExportReply) }

/** data export: at once · by a link in a mail · for administrators */
export function exportRoutes(
  server: Server,
  parts: DataExport,
  { guard, recent }: { guard: AccountGuard; recent: Guard },
): void {
  // Not a GET, because it writes to the audit and sends a notice.
  server.post('/api/users/me/export/file', {
    onRequest: [guard.caller, recent],
    schema: {
      operationId: 'exportOwnData',
      summary: 'Everything that is kept about you, as one JSON document',
      tags: own,
      response: file,
    },
    handler: async (request, reply) => {
      const by = { actor: request.caller.username, origin: originOf(request) }
      const document = await exportUser(parts, Number(request.caller.userId), by)
      return reply.type('application/json').send(Readable.from(document))
    },
  })

  server.post('/api/users/:id/export', {
    onRequest: [guard.role(ADMIN_ROLE), recent],
    schema: {
      operationId: 'exportDataOfUser',
      summary: 'Everything that is kept about a user, as one JSON document',
      tags: ['Users'],
      params: IdPath,
      body: WhyBody,
      response: file,
      problems: [userUnknown],
    },
    handler: async (request, reply) => {
      const id = pathId(request.params.id, { unknown: userUnknown })
      const document = await exportUser(parts, id, byCaller(request))
      return reply.type('application/json').send(Readable.from(document))
    },
  })

  byMailRoutes(server, parts, [guard.caller, recent])
}

function byMailRoutes(server: Server, parts: DataExport, onRequest: Guard[]): void {
  server.post('/api/users/me/export', {
    onRequest,
    schema: {
      operationId: 'requestExport',
      summary: 'Ask for a mail with a link to everything that is kept about you',
      tags: own,
      response: { 202: AcceptedReply },
      problems: [mailNotConfigured],
    },
    handler: async (request) => {
      await requestExport(parts, request.caller, originOf(request))
      return { message: 'A mail with a link is on its way.' }
    },
  })

  server.post('/api/users/me/export/download', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: {
      operationId: 'downloadExport',
      summary: 'The document, with the token of the mail; works for 24 hours',
      tags: own,
      body: TokenBody,
      response: file,
      problems: [tokenRejected],
    },
    handler: async (request, reply) => {
      const document = await exportByMail(parts, request.body.token, originOf(request))
      return reply.type('application/json').send(Readable.from(document))
    },
  })
}
