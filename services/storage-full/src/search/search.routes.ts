import { type Guard, orNull, type Server, Type, textIn } from '@plinth/kit/http'
import { FileReply } from '../files/files.ts'
import { fileOfAnotherUser } from '../files/problems.ts'
import type { Storage } from '../files/storage.ts'
import { SearchQuery, sizeIn, soughtIn } from './query.ts'
import { searchFiles } from './search.ts'

const FoundReply = Type.Object(
  {
    content: Type.Array(FileReply),
    nextCursor: orNull(
      Type.String({ description: 'For the next page of the same search; null on the last one' }),
    ),
    complete: Type.Boolean({
      description:
        'false for a while after an update from a version without search: files of that version may be missing',
    }),
  },
  { title: 'FoundFiles' },
)

export function searchRoute(server: Server, storage: Storage, read: Guard): void {
  server.get('/file/search', {
    onRequest: read,
    schema: {
      operationId: 'search',
      summary: 'Find your files; for an administrator those of all users',
      description:
        'A page may have fewer files than `size` although more follow. Files that do not change while you read are on exactly one page.',
      tags: ['Folders'],
      readsQuery: SearchQuery,
      response: { 200: FoundReply },
      problems: [fileOfAnotherUser],
    },
    handler: ({ caller, query }) => {
      const sought = soughtIn(query)
      const [ownerId, cursor] = [textIn(query, 'ownerId'), textIn(query, 'cursor')]
      return searchFiles(storage, caller, { sought, ownerId, cursor, size: sizeIn(query) })
    },
  })
}
