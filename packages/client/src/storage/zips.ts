import type { Bodies, ZipLink } from '../generated/storage-full.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import type { FileReplies } from './files.ts'

export type ZipRequest = Bodies['POST /file/zip']

/** Several files as one archive, which anyone with its token can download. */
export class Zips {
  readonly #open: Calls<FileReplies>
  readonly #calls: Calls<FileReplies>

  constructor({ open, calls }: { open: Calls<FileReplies>; calls: Calls<FileReplies> }) {
    this.#open = open
    this.#calls = calls
  }

  /**
   * @example
   * const { url } = await storage.zips.create({ ids: [7, 8], folders: ['/holidays'] })
   */
  create(request: ZipRequest, options?: CallOptions): Promise<ZipLink> {
    return this.#calls.json('POST /file/zip', { json: request }, options)
  }

  /**
   * Downloads the archive of a token; needs no session.
   * @example
   * const response = await storage.zips.open(token)
   */
  open(token: string, options?: CallOptions): Promise<Response> {
    const call = { path: { token }, stream: true }
    return this.#open.response('GET /file/zip/{token}', call, options)
  }

  /**
   * @example
   * await storage.zips.revoke(token)
   */
  revoke(token: string, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /file/zip/{token}', { path: { token } }, options)
  }
}
