import type { FileVersion, Replies, StoredFile } from '../generated/storage-full.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import { DOWNLOAD, download } from '../http/download.ts'

type Operation =
  | 'GET /file/{id}/versions'
  | 'GET /file/{id}/versions/{version}'
  | 'POST /file/{id}/versions/{version}/restore'
  | 'DELETE /file/{id}/versions/{version}'

/** What a file was before it was replaced; `files.replace` makes a new version. */
export class Versions {
  readonly #calls: Calls<Pick<Replies, Operation>>

  constructor(calls: Calls<Pick<Replies, Operation>>) {
    this.#calls = calls
  }

  /**
   * Newest first, the current one included.
   * @example
   * for (const { version, createdAt } of await storage.versions.list(7)) console.log(version, createdAt)
   */
  list(fileId: number, options?: CallOptions): Promise<FileVersion[]> {
    return this.#calls.json('GET /file/{id}/versions', { path: { id: fileId } }, options)
  }

  /**
   * The response, so that its body can be streamed. It resumes when the connection breaks.
   * @example
   * const before = await (await storage.versions.download(7, 1)).blob()
   */
  download(fileId: number, version: number, options?: CallOptions): Promise<Response> {
    const path = { id: fileId, version }
    return download((headers) =>
      this.#calls.response(
        'GET /file/{id}/versions/{version}',
        { ...DOWNLOAD, path, headers },
        options,
      ),
    )
  }

  /**
   * Makes a copy of this version the newest one.
   * @example
   * const { version } = await storage.versions.restore(7, 1)
   */
  restore(fileId: number, version: number, options?: CallOptions): Promise<StoredFile> {
    const call = { path: { id: fileId, version } }
    return this.#calls.json('POST /file/{id}/versions/{version}/restore', call, options)
  }

  /**
   * Removes an earlier version for good.
   * @example
   * await storage.versions.delete(7, 1)
   */
  delete(fileId: number, version: number, options?: CallOptions): Promise<void> {
    const call = { path: { id: fileId, version } }
    return this.#calls.nothing('DELETE /file/{id}/versions/{version}', call, options)
  }
}
