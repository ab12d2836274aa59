import { originOf } from '@plinth/accounts'
import { fileTypeMismatch, fileTypeUnsupported } from '@plinth/kit/files'
import { type Guard, IdPath, pathId, type Server, Type } from '@plinth/kit/http'
import { describeFile, FileReply } from '../files.ts'
import { folderPath } from '../folders/paths.ts'
import { fileNotFound, fileOfAnotherUser, tooManyFolders } from '../problems.ts'
import type { Storage } from '../storage.ts'
import { changeFile } from './changes.ts'

const MAX_TAGS = 20
const MAX_ENTRIES = 20

const ChangeBody = Type.Object(
  {
    originalFilename: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'Its extension must be one of the same type',
        examples: ['beach.png'],
      }),
    ),
    folder: Type.Optional(
      Type.String({
        description: 'Where to put the file; missing folders are created',
        examples: ['/holidays/2026'],
      }),
    ),
    tags: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64, examples: ['beach'] }), {
        maxItems: MAX_TAGS,
      }),
    ),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 1_024 }), {
        maxProperties: MAX_ENTRIES,
        propertyNames: { pattern: '^[A-Za-z0-9._-]{1,64}$' },
        examples: [{ camera: 'X100' }],
      }),
    ),
  },
  { title: 'FileChange' },
)

export function changeRoute(server: Server, storage: Storage, write: Guard): void {
  server.patch('/file/:id', {
    onRequest: write,
    schema: {
      operationId: 'change',
      summary: 'Rename, move or describe a file',
      description: 'A member that is given replaces the old value as a whole.',
      tags: ['Files'],
      params: IdPath,
      body: ChangeBody,
      response: { 200: FileReply },
      problems: [
        fileNotFound,
        fileOfAnotherUser,
        fileTypeMismatch,
        fileTypeUnsupported,
        tooManyFolders,
      ],
    },
    handler: async (request) => {
      const { folder, ...rest } = request.body
      const change = {
        ...rest,
        folder: folder === undefined ? undefined : folderPath(folder, 'folder'),
      }
      const asked = { id: pathId(request.params.id), origin: originOf(request), change }
      return describeFile(await changeFile(storage, request.caller, asked))
    },
  })
}
