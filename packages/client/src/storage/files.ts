import type {
  BulkOutcome,
  BulkRequest,
  EmptiedTrash,
  FileChange,
  FoundFiles,
  Link,
  PageOfRestorableFiles,
  PageOfUsage,
  Queries,
  Replies,
  RestorableFile,
  StoredFile,
  TemporaryLink,
  Usage,
  UsageOfOwner,
} from '../generated/storage-full.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import { DOWNLOAD, download } from '../http/download.ts'
import { type Listing, pages } from '../http/listing.ts'
import { queryOf } from '../http/request.ts'
import { type UploadOptions, uploadOf } from '../http/upload.ts'
import { bulk, type SearchQuery, search } from './folders.ts'
import { type ResumableOptions, ResumableUpload } from './resumable.ts'

/** Deleting a file answers in two ways, of which each method knows its own. */
export type FileReplies = Omit<Replies, 'DELETE /file/{id}'> & {
  'DELETE /file/{id}': RestorableFile
}
export type FileQuery = Queries['GET /file/list']
export type DeletedFileQuery = Queries['GET /file/deleted']
export type PictureQuery = Queries['GET /file/picture/{id}']
export type ReplaceOptions = UploadOptions & {
  /** The content to replace, by its `checksumSha256`: if the file has another one by now, the reply is 412. */
  ifChecksum?: string | undefined
}
export type UsageQuery = Queries['GET /api/storage/usage']

export type FileUploadOptions = UploadOptions & {
  /** The folder to put the file into; missing ones are created. */
  folder?: string | undefined
}

const UPLOAD_LASTS_MS = 300_000
const VERSION_DIGITS = 16

export class Files {
  readonly #calls: Calls<FileReplies>
  readonly #baseUrl: string

  constructor(calls: Calls<FileReplies>, baseUrl: string) {
    this.#calls = calls
    this.#baseUrl = baseUrl.replace(/\/+$/, '')
  }

  /**
   * @example
   * const stored = await storage.files.upload(file, 'hello.txt', { onProgress: ({ loaded }) => console.log(loaded) })
   */
  upload(
    file: Blob,
    filename: string,
    { folder, ...options }: FileUploadOptions = {},
  ): Promise<StoredFile> {
    const query = { folder }
    const call = { ...uploadOf(file, filename, options), query, lastsMs: UPLOAD_LASTS_MS }
    return this.#calls.json('POST /file', call)
  }

  /**
   * Sends a large file in pieces. The same file goes on where an earlier upload of it stopped, even after the page
   * was loaded again.
   * @example
   * const stored = await storage.files.uploadResumable(file, 'film.mp4').done
   */
  uploadResumable(file: Blob, filename: string, options?: ResumableOptions): ResumableUpload {
    return new ResumableUpload(this.#calls, { file, filename }, options)
  }

  /**
   * Replaces the content of a file; its id, name and links stay.
   * @example
   * const known = await storage.files.get(7)
   * const { version } = await storage.files.replace(7, file, 'hello.txt', { ifChecksum: known.checksumSha256 })
   */
  replace(
    id: number,
    file: Blob,
    filename: string,
    { ifChecksum, ...options }: ReplaceOptions = {},
  ): Promise<StoredFile> {
    const { headers, ...form } = uploadOf(file, filename, options)
    const condition = ifChecksum !== undefined && { 'if-match': `"${ifChecksum}"` }
    const call = { ...form, headers: { ...headers, ...condition }, lastsMs: UPLOAD_LASTS_MS }
    return this.#calls.json('PUT /file/{id}', { ...call, path: { id } })
  }

  /**
   * `ownerId` is for administrators: the files of one owner.
   * @example
   * const files = await storage.files.list({ page: 0, size: 50 })
   */
  list(query?: FileQuery, options?: CallOptions): Promise<StoredFile[]> {
    return this.#calls.json('GET /file/list', { query }, options)
  }

  /**
   * @example
   * const { size, checksumSha256 } = await storage.files.get(7)
   */
  get(id: number, options?: CallOptions): Promise<StoredFile> {
    return this.#calls.json('GET /file/info/{id}', { path: { id } }, options)
  }

  /**
   * Finds files by words, folder, tags and more. In `for await` all of them, page after page.
   * @example
   * for await (const { originalFilename } of storage.files.search({ q: 'invoice 2026' })) console.log(originalFilename)
   */
  search(query?: SearchQuery, options?: CallOptions): Listing<FoundFiles, StoredFile> {
    return search(this.#calls, query, options)
  }

  /**
   * Changes the name, folder, tags or metadata. What is given replaces the old value.
   * @example
   * await storage.files.change(7, { folder: '/holidays/2026', tags: ['beach'] })
   */
  change(id: number, change: FileChange, options?: CallOptions): Promise<StoredFile> {
    return this.#calls.json('PATCH /file/{id}', { path: { id }, json: change }, options)
  }

  /**
   * Trashes, restores, deletes or moves up to 1,000 files; `failed` has the code of each refusal.
   * @example
   * const { done, failed } = await storage.files.bulk({ action: 'move', ids: [7, 8], folder: '/old' })
   */
  bulk(request: BulkRequest, options?: CallOptions): Promise<BulkOutcome> {
    return bulk(this.#calls, request, options)
  }

  /**
   * The response, so that its body can be streamed. It resumes when the connection breaks.
   * @example
   * const bytes = await (await storage.files.download(7)).arrayBuffer()
   */
  download(id: number, options?: CallOptions): Promise<Response> {
    return this.#resuming('GET /file/download/{id}', id, options)
  }

  /**
   * Like `download`, for display in a page.
   * @example
   * const { body } = await storage.files.stream(7, { headers: { range: 'bytes=0-1023' } })
   */
  stream(id: number, options?: CallOptions): Promise<Response> {
    return this.#resuming('GET /file/stream/{id}', id, options)
  }

  /**
   * @example
   * const picture = await (await storage.files.thumbnail(7)).blob()
   */
  thumbnail(id: number, options?: CallOptions): Promise<Response> {
    return this.#calls.response('GET /file/thumbnail/{id}', { path: { id } }, options)
  }

  /**
   * A picture in another size or format.
   * @example
   * const avatar = await (await storage.files.picture(7, { width: 128, height: 128, fit: 'cover' })).blob()
   */
  picture(id: number, query: PictureQuery, options?: CallOptions): Promise<Response> {
    return this.#calls.response('GET /file/picture/{id}', { path: { id }, query }, options)
  }

  /**
   * The address of a picture. It changes with the content, so that browsers may cache it for good. Loading it
   * takes an access token; for a page that sends none, use `links.pictureUrl`.
   * @example
   * const address = storage.files.pictureUrl(await storage.files.get(7), { width: 640 })
   */
  pictureUrl(file: Pick<StoredFile, 'id' | 'checksumSha256'>, query: PictureQuery): string {
    const v = file.checksumSha256.slice(0, VERSION_DIGITS)
    return `${this.#baseUrl}/file/picture/${file.id}${queryOf({ ...query, v })}`
  }

  /**
   * Deletes the file for good.
   * @example
   * await storage.files.delete(7)
   */
  delete(id: number, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /file/{id}', { path: { id } }, options)
  }

  /**
   * Deletes the file for everyone, but keeps its bytes for a while.
   * @example
   * const { restorableUntil } = await storage.files.deleteRestorably(7)
   */
  deleteRestorably(id: number, options?: CallOptions): Promise<RestorableFile> {
    const call = { path: { id }, query: { restorable: true } }
    return this.#calls.json('DELETE /file/{id}', call, options)
  }

  /**
   * The files that can still be restored, last deleted first.
   * @example
   * for await (const { id, restorableUntil } of storage.files.deleted()) console.log(id, restorableUntil)
   */
  deleted(
    query?: DeletedFileQuery,
    options?: CallOptions,
  ): Listing<PageOfRestorableFiles, RestorableFile> {
    return pages((next) =>
      this.#calls.json('GET /file/deleted', { query: { ...query, ...next } }, options),
    )
  }

  /**
   * @example
   * const file = await storage.files.restore(7)
   */
  restore(id: number, options?: CallOptions): Promise<StoredFile> {
    return this.#calls.json('POST /file/{id}/restore', { path: { id } }, options)
  }

  /**
   * Removes for good what `deleted` lists of your own files. `ownerId` is for administrators: the trash of one owner.
   * @example
   * const { files, bytes } = await storage.files.emptyTrash()
   */
  emptyTrash(ownerId?: string, options?: CallOptions): Promise<EmptiedTrash> {
    return this.#calls.json('DELETE /file/deleted', { query: { ownerId } }, options)
  }

  #resuming(
    operation: 'GET /file/download/{id}' | 'GET /file/stream/{id}',
    id: number,
    options?: CallOptions,
  ): Promise<Response> {
    return download((headers) =>
      this.#calls.response(operation, { ...DOWNLOAD, path: { id }, headers }, options),
    )
  }
}

/** Temporary links, with which anyone can download a file. */
export class Links {
  readonly #open: Calls<FileReplies>
  readonly #calls: Calls<FileReplies>

  constructor({ open, calls }: { open: Calls<FileReplies>; calls: Calls<FileReplies> }) {
    this.#open = open
    this.#calls = calls
  }

  /**
   * @example
   * const { url } = await storage.links.create(7, 3600)
   */
  create(fileId: number, expiresInSeconds: number, options?: CallOptions): Promise<TemporaryLink> {
    const json = { id: fileId, expiresInSeconds }
    return this.#calls.json('POST /file/generate-pre-signed-url', { json }, options)
  }

  /**
   * The links to a file, without their tokens.
   * @example
   * const links = await storage.links.list(7)
   */
  list(fileId: number, options?: CallOptions): Promise<Link[]> {
    return this.#calls.json('GET /file/{id}/links', { path: { id: fileId } }, options)
  }

  /**
   * @example
   * await storage.links.revoke(7, 3)
   */
  revoke(fileId: number, linkId: number, options?: CallOptions): Promise<void> {
    const call = { path: { id: fileId, linkId } }
    return this.#calls.nothing('DELETE /file/{id}/links/{linkId}', call, options)
  }

  /**
   * Downloads the file of a link; needs no session.
   * @example
   * const response = await storage.links.open(token)
   */
  open(token: string, options?: CallOptions): Promise<Response> {
    const call = { path: { token }, stream: true }
    return this.#open.response('GET /file/presigned/{token}', call, options)
  }

  /**
   * The address of the picture behind a link, for the `src` of an image.
   * @example
   * const address = storage.links.pictureUrl(await storage.links.create(7, 3600), { width: 640 })
   */
  pictureUrl(link: Pick<TemporaryLink, 'url'>, query: PictureQuery): string {
    return `${link.url}/picture${queryOf(query)}`
  }

  /**
   * The picture behind a link in another size or format; needs no session.
   * @example
   * const small = await (await storage.links.picture(token, { width: 256 })).blob()
   */
  picture(token: string, query: PictureQuery, options?: CallOptions): Promise<Response> {
    return this.#open.response(
      'GET /file/presigned/{token}/picture',
      { path: { token }, query },
      options,
    )
  }
}

/** What owners have stored, and their limits; null where there is no limit. */
export class UsageOfStorage {
  readonly #calls: Calls<FileReplies>

  constructor(calls: Calls<FileReplies>) {
    this.#calls = calls
  }

  /**
   * @example
   * const { bytes, maxBytes } = await storage.usage.get()
   */
  get(options?: CallOptions): Promise<Usage> {
    return this.#calls.json('GET /file/usage', {}, options)
  }

  /**
   * For administrators.
   * @example
   * for await (const { owner, bytes } of storage.usage.ofOwners()) console.log(owner, bytes)
   */
  ofOwners(query?: UsageQuery, options?: CallOptions): Listing<PageOfUsage, UsageOfOwner> {
    return pages((next) =>
      this.#calls.json('GET /api/storage/usage', { query: { ...query, ...next } }, options),
    )
  }
}
