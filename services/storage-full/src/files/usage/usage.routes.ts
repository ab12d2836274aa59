import {
  type Guard,
  orNull,
  pageQuery,
  pageReply,
  pageRequest,
  type Server,
  Type,
} from '@plinth/kit/http'
import type { Storage } from '../storage.ts'
import { pageOfUsage, usageOf } from './usage.ts'

const count = Type.Integer({ minimum: 0 })

const usage = {
  files: count,
  bytes: count,
  maxFiles: orNull(Type.Integer({ description: 'null: no limit' })),
  maxBytes: orNull(Type.Integer({ description: 'null: no limit' })),
}

const UsageReply = Type.Object(
  {
    ...usage,
    uploadingFiles: Type.Integer({ minimum: 0, description: 'Uploads that are not finished' }),
    uploadingBytes: Type.Integer({ minimum: 0, description: 'What they reserve in the quota' }),
    trashFiles: Type.Integer({ minimum: 0, description: 'Deleted files that you can restore' }),
    trashBytes: Type.Integer({ minimum: 0, description: 'They do not count in the quota' }),
    versionBytes: Type.Integer({
      minimum: 0,
      description: 'Earlier versions of files; they count in the quota, but not in `bytes`',
    }),
  },
  { title: 'Usage' },
)

const OwnerReply = Type.Object(
  {
    ownerId: Type.Union([Type.Integer(), Type.String()]),
    owner: orNull(Type.String({ examples: ['ada'] })),
    ...usage,
  },
  { title: 'UsageOfOwner' },
)

export function usageRoutes(
  server: Server,
  storage: Storage,
  { caller, admin }: { caller: Guard; admin: Guard },
): void {
  server.get('/file/usage', {
    onRequest: caller,
    schema: {
      operationId: 'usage',
      summary: 'What you have stored, and your quota',
      tags: ['Files'],
      response: { 200: UsageReply },
    },
    handler: (request) => usageOf(storage, request.caller),
  })

  server.get('/api/storage/usage', {
    onRequest: admin,
    schema: {
      operationId: 'usageOfOwners',
      summary: 'What every owner has stored, those with the most bytes first',
      tags: ['Storage'],
      readsQuery: pageQuery([]),
      response: { 200: pageReply(OwnerReply, 'PageOfUsage') },
    },
    handler: ({ query }) => pageOfUsage(storage, pageRequest(query, [])),
  })
}
