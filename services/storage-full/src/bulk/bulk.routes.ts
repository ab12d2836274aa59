import { originOf } from '@plinth/accounts'
import { type Guard, oneOf, positiveInteger, type Server, Type } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { folderPath, ROOT } from '../files/folders/paths.ts'
import type { Storage } from '../files/storage.ts'
import { ACTIONS, runForEach } from './bulk.ts'

const MAX_IDS = 1_000

const BulkBody = Type.Object(
  {
    action: oneOf(...ACTIONS),
    ids: Type.Array(positiveInteger(), { minItems: 1, maxItems: MAX_IDS, examples: [[1, 2]] }),
    folder: Type.Optional(
      Type.String({ description: 'Where to move the files', examples: ['/holidays/2026'] }),
    ),
  },
  { title: 'BulkRequest', examples: [{ action: 'trash', ids: [1, 2] }] },
)

const BulkReply = Type.Object(
  {
    done: Type.Array(Type.Integer()),
    failed: Type.Array(
      Type.Object({ id: Type.Integer(), code: Type.String({ examples: ['FILE_NOT_FOUND'] }) }),
    ),
  },
  { title: 'BulkOutcome' },
)

export function bulkRoute(server: Server, storage: Storage, write: Guard): void {
  server.post('/file/bulk', {
    onRequest: write,
    schema: {
      operationId: 'bulk',
      summary: 'Trash, restore, delete or move up to 1,000 files',
      description:
        'Each as its own call would, with the same rights; `failed` has the code of each refusal.',
      tags: ['Folders'],
      body: BulkBody,
      response: { 200: BulkReply },
    },
    handler: (request) => {
      const { action, ids, folder } = request.body
      if (action === 'move' && folder === undefined)
        throw validationFailed(['folder: is required to move files'])
      const to = folder === undefined ? ROOT : folderPath(folder, 'folder')
      const asked = { action, ids, folder: to, origin: originOf(request) }
      return runForEach(storage, request.caller, asked)
    },
  })
}
