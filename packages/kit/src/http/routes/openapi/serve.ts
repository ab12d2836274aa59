import { createHash } from 'node:crypto'
import { inTurn } from '../../../runtime/turns.ts'
import type { Server } from '../../framework.ts'
import { Type } from '../../schema.ts'
import { consoleRoutes } from '../console-pages.ts'
import { listsTag, weakly } from '../entity-tags.ts'
import { bareReply, replyWith } from '../operations.ts'
import type { ApiDescription } from './document.ts'

type Document = { bytes: Buffer; hash: string }
type Served = { servers: string; etag: string; bytes: Buffer }

const DocumentReply = Type.Object(
  {},
  { additionalProperties: {}, examples: [{ openapi: '3.1.0' }], description: 'OpenAPI 3.1' },
)

const REFERENCE = { operationId: 'reference', summary: 'This document as a page for browsers' }

/**
 * `/openapi.json`: the API of this very process, and the URL at which the client reaches it. It is built
 * once, on the first request. `page` is the folder of the page that renders it, which is served at
 * `/reference`.
 */
export function openApiRoutes(server: Server, api: ApiDescription, page?: string): void {
  server.api = api
  if (page) consoleRoutes(server, page, '/reference', REFERENCE)
  let made: Promise<Document> | undefined
  let latest: Served | undefined
  server.get('/openapi.json', {
    schema: {
      operationId: 'openApi',
      summary: 'This document',
      tags: ['Operations'],
      response: {
        200: replyWith({ headers: ['ETag', 'Cache-Control'] }, DocumentReply),
        304: bareReply({ headers: ['ETag', 'Cache-Control'] }),
      },
    },
    handler: async (request, reply) => {
      made ??= documentOf(server, api)
      const document = await made
      const servers = JSON.stringify([{ url: server.baseUrlOf(request) }])
      if (latest?.servers !== servers) latest = servedAt(servers, document)
      const { etag, bytes } = latest
      reply.headers({ etag, 'cache-control': 'no-cache' })
      const known = request.headers['if-none-match'] ?? ''
      if (listsTag(known, etag, weakly)) return reply.code(304).send()
      // Sixty clients that ask together would otherwise fill one turn of the event loop with 10 MB.
      await new Promise<void>(inTurn)
      return reply.type('application/json').send(bytes)
    },
  })
}

/** Kept for the next client, which usually uses the same URL: to join 175 KB for each took longer than to send them. */
function servedAt(servers: string, { bytes, hash }: Document): Served {
  const etag = `"${createHash('sha256').update(hash).update(servers).digest('base64url')}"`
  return { servers, etag, bytes: Buffer.concat([Buffer.from(`{"servers":${servers},`), bytes]) }
}

/**
 * Everything but the opening brace, after which `servers` is inserted. As bytes: to encode the text again for each
 * request took 2 ms.
 */
async function documentOf({ operations }: Server, api: ApiDescription): Promise<Document> {
  const { openApiDocument } = await import('./document.ts')
  const bytes = Buffer.from(JSON.stringify(openApiDocument(operations, api)).slice(1))
  return { bytes, hash: createHash('sha256').update(bytes).digest('hex') }
}
