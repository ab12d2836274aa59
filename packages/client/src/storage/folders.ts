import type {
  BulkOutcome,
  BulkRequest,
  DeletedFolder,
  Folder,
  Folders as FolderList,
  FolderMove,
  FoundFiles,
  MovedFolder,
  Queries,
  Replies,
  StoredFile,
} from '../generated/storage-full.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import { type Listing, listing } from '../http/listing.ts'

type Operation =
  | 'POST /file/folders'
  | 'GET /file/folders'
  | 'DELETE /file/folders'
  | 'POST /file/folders/move'
  | 'GET /file/search'
  | 'POST /file/bulk'

type FolderCalls = Calls<Pick<Replies, Operation>>

export type SearchQuery = Queries['GET /file/search']

/** Your folders. A file is put into one with `files.upload` or `files.change`. */
export class Folders {
  readonly #calls: FolderCalls

  constructor(calls: FolderCalls) {
    this.#calls = calls
  }

  /**
   * Creates a folder and those above it, where they are missing.
   * @example
   * const { path } = await storage.folders.create('/holidays/2026')
   */
  create(path: string, options?: CallOptions): Promise<Folder> {
    return this.#calls.json('POST /file/folders', { json: { path } }, options)
  }

  /**
   * The folders directly below another, by name.
   * @example
   * const { folders } = await storage.folders.list('/holidays')
   */
  list(path = '/', options?: CallOptions): Promise<FolderList> {
    return this.#calls.json('GET /file/folders', { query: { path } }, options)
  }

  /**
   * Moves or renames a folder, with all that is in it.
   * @example
   * const { files } = await storage.folders.move({ from: '/2026', to: '/holidays/2026' })
   */
  move(move: FolderMove, options?: CallOptions): Promise<MovedFolder> {
    return this.#calls.json('POST /file/folders/move', { json: move }, options)
  }

  /**
   * Deletes an empty folder.
   * @example
   * await storage.folders.delete('/empty')
   */
  delete(path: string, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /file/folders', { query: { path } }, options)
  }

  /**
   * Deletes a folder with all that is in it. The files go to the trash.
   * @example
   * const { files } = await storage.folders.deleteWithFiles('/old')
   */
  deleteWithFiles(path: string, options?: CallOptions): Promise<DeletedFolder> {
    const query = { path, recursive: true }
    return this.#calls.json('DELETE /file/folders', { query }, options)
  }
}

/** One page of the files that are found, or all of them in `for await`. */
export function search(
  calls: FolderCalls,
  query?: SearchQuery,
  options?: CallOptions,
): Listing<FoundFiles, StoredFile> {
  return listing(
    (next) => calls.json('GET /file/search', { query: { ...query, ...next } }, options),
    {
      itemsOf: ({ content }) => content,
      nextOf: ({ nextCursor }) => (nextCursor === null ? undefined : { cursor: nextCursor }),
    },
  )
}

export function bulk(
  calls: FolderCalls,
  request: BulkRequest,
  options?: CallOptions,
): Promise<BulkOutcome> {
  return calls.json('POST /file/bulk', { json: request }, options)
}
