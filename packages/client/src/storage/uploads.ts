import type { Replies, Upload } from '../generated/storage-full.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import { TUS } from './resumable.ts'

type Operation =
  | 'GET /file/uploads'
  | 'GET /file/uploads/{uploadId}'
  | 'DELETE /file/uploads/{uploadId}'

/** Uploads that have not finished; `files.uploadResumable` makes them. */
export class Uploads {
  readonly #calls: Calls<Pick<Replies, Operation>>

  constructor(calls: Calls<Pick<Replies, Operation>>) {
    this.#calls = calls
  }

  /**
   * Your unfinished uploads, newest first.
   * @example
   * for (const { filename, offset, length } of await storage.uploads.list()) console.log(filename, offset / length)
   */
  list(options?: CallOptions): Promise<Upload[]> {
    return this.#calls.json('GET /file/uploads', {}, options)
  }

  /**
   * @example
   * const { offset, fileId } = await storage.uploads.get('8f14e45fceea167a5a36dedd4bea2543')
   */
  get(uploadId: string, options?: CallOptions): Promise<Upload> {
    return this.#calls.json('GET /file/uploads/{uploadId}', { path: { uploadId } }, options)
  }

  /**
   * Ends an upload. A file that it has become stays.
   * @example
   * await storage.uploads.cancel('8f14e45fceea167a5a36dedd4bea2543')
   */
  cancel(uploadId: string, options?: CallOptions): Promise<void> {
    const call = { path: { uploadId }, headers: TUS }
    return this.#calls.nothing('DELETE /file/uploads/{uploadId}', call, options)
  }
}
