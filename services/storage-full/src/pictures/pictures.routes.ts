import { failedPrecondition, fileReplies, sendFile } from '@plinth/kit/files'
import {
  addVary,
  type Guard,
  IdPath,
  lookUpText,
  oneOf,
  pathId,
  type Reply,
  type Request,
  type Server,
  Type,
} from '@plinth/kit/http'
import { issuerUnavailable, storageFull, storageReadOnly } from '@plinth/kit/problems'
import { withContent } from '../files/bytes.ts'
import { requireFile } from '../files/files.ts'
import { fileBehindLink, linkHeaders } from '../files/links/links.ts'
import {
  fileNotFound,
  fileOfAnotherUser,
  openedLinkNotFound,
  READ_PROBLEMS,
} from '../files/problems.ts'
import type { Storage, StoredFile } from '../files/storage.ts'
import { type Offer, type PictureRequest, requestedPicture } from './parameters.ts'
import type { Pictures } from './pictures.ts'
import { noPicture, pictureNotOffered, picturesBusy } from './problems.ts'

const VERSION_DIGITS = 16

const described = <T extends object>(schema: T, description: string): T => ({
  ...schema,
  description,
})

const OTHER_PARAMETERS = {
  fit: Type.Optional(
    described(
      oneOf('inside', 'cover'),
      '`inside`, the default, keeps the whole picture; `cover` cuts it to the shape',
    ),
  ),
  format: Type.Optional(
    described(
      oneOf('auto', 'jpeg', 'png', 'webp', 'avif'),
      '`auto`, the default, follows `Accept`',
    ),
  ),
  quality: Type.Optional(Type.Integer({ enum: [50, 65, 80, 90], description: '80 by default' })),
  preset: Type.Optional(
    lookUpText({ description: 'Instead of all of these: a name from the settings' }),
  ),
  v: Type.Optional(
    Type.String({
      description:
        'The first 16 digits of `checksumSha256`: the reply may be cached for good, because the address changes with the content',
    }),
  ),
}

/** The document says which sizes this service offers. Types that are made of it must not: others offer other sizes. */
function queryFor(sizes: number[]) {
  if (sizes.length === 0) return Type.Object(OTHER_PARAMETERS)
  const offered = { enum: sizes, 'x-from-settings': true }
  const examples = [sizes.find((size) => size >= 640) ?? sizes.at(-1)]
  const description = 'One of the sizes that the service offers'
  return Type.Object({
    width: Type.Optional(Type.Integer({ ...offered, description, examples })),
    height: Type.Optional(Type.Integer({ ...offered, description: 'As `width`' })),
    ...OTHER_PARAMETERS,
  })
}

const response = fileReplies({
  mediaTypes: ['image/jpeg', 'image/png', 'image/webp', 'image/avif'],
})

const PROBLEMS = [
  pictureNotOffered,
  noPicture,
  picturesBusy,
  storageFull,
  storageReadOnly,
  ...READ_PROBLEMS,
]

type Options = {
  caller: Guard
  pictures: Pictures
  offer: Offer
}

export function pictureRoutes(server: Server, storage: Storage, options: Options): void {
  const { caller, offer } = options
  const readsQuery = queryFor(offer.sizes)
  const pictures = { sizes: offer.sizes, presets: [...offer.presets.keys()] }
  server.tellPages(() => ({ pictures }))
  server.get('/file/picture/:id', {
    onRequest: caller,
    schema: {
      operationId: 'picture',
      summary: 'A picture in another size or format',
      description:
        'Drawn once and kept. Never larger than the original; upright, in sRGB, and without metadata. Animations stay animated in WebP.',
      tags: ['Files'],
      params: IdPath,
      readsQuery,
      response,
      problems: [fileNotFound, fileOfAnotherUser, ...PROBLEMS],
    },
    handler: async (request, reply) => {
      const id = pathId(request.params.id)
      const parameters = requestedPicture(request.query, offer)
      const file = await requireFile(storage, request.caller, id)
      const user = request.caller.userId
      return withContent(storage, file, (found) => {
        const headers = { 'cache-control': cachingOf(parameters, found) }
        return sendPicture(request, reply, { ...options, file: found, parameters, user, headers })
      })
    },
  })

  server.get('/file/presigned/:token/picture', {
    schema: {
      operationId: 'openLinkAsPicture',
      summary: 'The picture behind a temporary link, in another size or format',
      description: 'Counts as an opening of the link. Takes the same parameters as the owner.',
      tags: ['Links'],
      params: Type.Object({ token: Type.String() }),
      readsQuery,
      response,
      problems: [openedLinkNotFound, issuerUnavailable, ...PROBLEMS],
    },
    handler: async (request, reply) => {
      const parameters = requestedPicture(request.query, offer)
      const counted = request.method === 'GET'
      const file = await fileBehindLink(storage, request.params.token, { counted })
      const user = file.ownerId
      const headers = linkHeaders(storage, file)
      return withContent(storage, file, (found) =>
        sendPicture(request, reply, { ...options, file: found, parameters, user, headers }),
      )
    },
  })
}

type Sending = Options & {
  file: StoredFile
  parameters: PictureRequest
  user: string
  headers: Record<string, string>
}

async function sendPicture(
  request: Request,
  reply: Reply,
  { pictures, file, parameters, user, headers }: Sending,
): Promise<Reply> {
  if (parameters.format === 'auto') addVary(reply, 'accept')
  const asked = {
    parameters,
    accept: request.headers.accept,
    user,
    isHeld: (etag: string) =>
      failedPrecondition(request.headers, { etag, lastModified: undefined }) !== undefined,
  }
  return sendFile(request, reply, { ...(await pictures.of(file, asked)), headers })
}

/** The address of a picture with `v` changes with its content; one that names other content may not be cached. */
function cachingOf({ v }: PictureRequest, { checksumSha256 }: StoredFile): string {
  const isCurrent = v !== undefined && v === checksumSha256.slice(0, VERSION_DIGITS)
  return isCurrent ? 'private, max-age=31536000, immutable' : 'private, no-cache'
}
