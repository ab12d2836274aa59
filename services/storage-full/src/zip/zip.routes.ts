import { Readable } from 'node:stream'
import { contentDisposition } from '@plinth/kit/files'
import {
  bareReply,
  type Guard,
  noContent,
  positiveInteger,
  type Reply,
  type Request,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { issuerUnavailable, validationFailed } from '@plinth/kit/problems'
import { fileNotFound, fileOfAnotherUser, folderNotFound } from '../files/problems.ts'
import { measureZips } from './measure.ts'
import { createOpenArchives } from './open-archives.ts'
import { tooManyZips, zipNotFound, zipsBusy, zipTooLarge } from './problems.ts'
import { archiveStream } from './stream.ts'
import {
  archiveBehind,
  createZip,
  DEFAULT_ZIP_SECONDS,
  MAX_ZIP_SECONDS,
  revokeZip,
  type Zips,
} from './zip.ts'

const tags = ['Links']
const TokenPath = Type.Object({ token: Type.String() })
/** A client that reads nothing for this long is gone, or holds files open on purpose. */
const STALLED_MS = 60_000
const BYTES_PER_ID = 20
const BODY_FRAME_BYTES = 128 * 1024

const ZipBody = Type.Object(
  {
    ids: Type.Optional(Type.Array(positiveInteger(), { description: 'Files' })),
    folders: Type.Optional(
      Type.Array(Type.String({ examples: ['/holidays'] }), {
        description: 'Paths of your own folders, with all that is in them',
      }),
    ),
    name: Type.Optional(
      Type.String({
        pattern: '^[^/\\\\\\p{Cc}\\p{Cs}]{1,255}$',
        message: 'must have 1 to 255 characters, and neither slashes nor control characters',
        description: 'Of the archive',
        examples: ['holidays.zip'],
      }),
    ),
    expiresInSeconds: Type.Optional(positiveInteger(MAX_ZIP_SECONDS)),
  },
  {
    title: 'ZipRequest',
    examples: [{ ids: [1], name: 'holidays.zip', expiresInSeconds: 3600 }],
  },
)

const ZipReply = Type.Object(
  {
    token: Type.String({ description: 'Shown only here' }),
    url: Type.String({ examples: ['http://localhost:8082/file/zip/token'] }),
    expiresAt: timestamp(),
    files: Type.Integer({ minimum: 0, description: 'How many there are now' }),
    bytes: Type.Integer({ minimum: 0, description: 'The sum of their sizes' }),
  },
  { title: 'ZipLink' },
)

/** Downloading needs no user: a browser cannot send a token with a download. */
export function zipRoutes(server: Server, offered: Omit<Zips, 'open'>, links: Guard): void {
  const zips = { ...offered, open: createOpenArchives() }
  const countBytes = measureZips(server.metrics)
  server.post('/file/zip', {
    bodyLimit: BODY_FRAME_BYTES + BYTES_PER_ID * zips.maxFiles,
    onRequest: links,
    schema: {
      operationId: 'createZip',
      summary: 'Prepare the download of several files and folders as one ZIP archive',
      description:
        'The archive holds what is there when it is downloaded, and you may still read then. Without `name` it has that of the only folder, or is `files.zip`.',
      tags,
      body: ZipBody,
      response: { 201: ZipReply },
      problems: [fileNotFound, folderNotFound, fileOfAnotherUser, zipTooLarge, tooManyZips],
    },
    handler: ({ caller, body }) => {
      const { ids = [], folders = [], name, expiresInSeconds = DEFAULT_ZIP_SECONDS } = body
      if (ids.length + folders.length === 0)
        throw validationFailed(['ids: choose at least one file or folder'])
      return createZip(zips, caller, { ids, folders, name, expiresInSeconds })
    },
  })

  server.get('/file/zip/:token', {
    schema: {
      operationId: 'openZip',
      summary: 'Several files as one ZIP archive',
      description:
        'The token is the permission. The length is exact: a connection that ends before was cut, because a file could not be read.',
      tags,
      params: TokenPath,
      response: {
        200: bareReply({
          mediaTypes: ['application/zip'],
          headers: ['Content-Disposition', 'Cache-Control'],
          description: 'The archive',
        }),
      },
      problems: [zipNotFound, zipTooLarge, zipsBusy, issuerUnavailable],
    },
    handler: (request, reply) => send(request, reply, zips, countBytes),
  })

  server.delete('/file/zip/:token', {
    onRequest: links,
    schema: {
      operationId: 'revokeZip',
      summary: 'Withdraw the download of an archive',
      tags,
      params: TokenPath,
      response: { 204: noContent },
      problems: [zipNotFound],
    },
    handler: ({ caller, params }) => revokeZip(zips, caller, params.token),
  })
}

async function send(
  { method, params }: Request,
  reply: Reply,
  zips: Zips,
  countBytes: (bytes: number) => void,
): Promise<Reply> {
  const client = new AbortController()
  reply.raw.once('close', () => client.abort())
  const { token } = params as { token: string }
  const { name, makerId, layout } = await archiveBehind(zips, token, client.signal)
  const isSent = method !== 'HEAD'
  if (isSent) admitUntil(client.signal, () => zips.open.admit(makerId, layout.placed.length))
  reply.headers({
    'content-type': 'application/zip',
    'content-length': String(layout.totalBytes),
    'content-disposition': contentDisposition('attachment', name),
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
  })
  // Without a payload the framework sends a length of 0; an empty stream keeps the true length.
  if (!isSent) return reply.send(Readable.from([]))
  reply.raw.setTimeout(STALLED_MS)
  const options = { signal: client.signal, sent: countBytes }
  return reply.send(archiveStream(zips.storage, layout, options))
}

/** The client may have left while the archive was prepared. */
function admitUntil(left: AbortSignal, admit: () => () => void): void {
  if (!left.aborted) left.addEventListener('abort', admit(), { once: true })
}
