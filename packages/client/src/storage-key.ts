import { AuditLog } from './audit-log.ts'
import type {
  AuditEvent,
  FileMetadata,
  ProblemCode,
  Queries,
  Replies,
} from './generated/storage-key.ts'
import { type CallOptions, type Calls, callsOf } from './http/calls.ts'
import { DOWNLOAD, download } from './http/download.ts'
import { type Answered, ProblemError } from './http/errors.ts'
import { type ClientOptions, foundOf, sender, textOf } from './http/request.ts'
import { type UploadOptions, uploadOf } from './http/upload.ts'
import { Operations } from './operations.ts'
import { ServiceKeys } from './service-keys.ts'

/** The service answers without codes, so that each is made of the status. */
export type StorageKeyProblem = Answered<ProblemCode, object>
export type StorageKeyOptions = Omit<ClientOptions, 'accessToken'>

/** Files by the name they are stored under. */
export class NamedFiles {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * Returns the name the file is stored under; later calls take that name.
   * @example
   * const name = await storageKey.files.upload(file, 'hello.txt')
   */
  upload(file: Blob, filename: string, options?: UploadOptions): Promise<string> {
    return textOf(this.#calls.response('POST /file', uploadOf(file, filename, options)))
  }

  /**
   * @example
   * const names = await storageKey.files.list()
   */
  list(options?: CallOptions): Promise<string[]> {
    return this.#calls.json('GET /file/list', {}, options)
  }

  /**
   * @example
   * const { mimeType } = await storageKey.files.get('0b9d6d2e.txt')
   */
  get(name: string, options?: CallOptions): Promise<FileMetadata> {
    return this.#calls.json('GET /file/info/{filename}', { path: pathOf(name) }, options)
  }

  /**
   * The response, so that its body can be streamed. It resumes when the connection breaks.
   * @example
   * const bytes = await (await storageKey.files.download('0b9d6d2e.txt')).arrayBuffer()
   */
  download(name: string, options?: CallOptions): Promise<Response> {
    return download((headers) => {
      const call = { ...DOWNLOAD, path: pathOf(name), headers }
      return this.#calls.response('GET /file/{filename}', call, options)
    })
  }

  /**
   * False if there was no such file.
   * @example
   * const existed = await storageKey.files.delete('0b9d6d2e.txt')
   */
  delete(name: string, options?: CallOptions): Promise<boolean> {
    const call = { path: pathOf(name) }
    return foundOf(this.#calls.response('DELETE /file/{filename}', call, options))
  }
}

/**
 * A URL cannot end in the segment `..`, which would lead to the page above. With a slash the service gets to see the
 * name, and refuses it.
 */
function pathOf(name: string): { filename: string } {
  return { filename: name === '..' ? '../' : name }
}

/** Service keys and their audit need the configured key, and a service that has a database. */
export class StorageKeyClient {
  readonly files: NamedFiles
  readonly keys: ServiceKeys
  readonly audit: AuditLog<AuditEvent, Queries['GET /api/audit']>
  readonly operations: Operations

  constructor(baseUrl: string, apiKey: string, options: StorageKeyOptions = {}) {
    const send = sender(baseUrl, options)
    const calls = callsOf<Replies>((method, path, call = {}) =>
      send(method, path, { ...call, headers: { ...call.headers, 'x-api-key': apiKey } }),
    )
    this.files = new NamedFiles(calls)
    this.keys = new ServiceKeys(calls)
    this.audit = new AuditLog(calls)
    this.operations = new Operations(callsOf<Replies>(send))
  }

  /**
   * Whether the service answered with a problem.
   * @example
   * if (storageKey.isProblem(error) && error.code === 'HTTP_404') console.log(error.message)
   */
  isProblem(error: unknown): error is StorageKeyProblem {
    return error instanceof ProblemError
  }
}

/**
 * The key is the configured one, or a service key.
 * @example
 * const storageKey = storageKeyClient('http://localhost:8083', 'storage-local-dev-key')
 */
export function storageKeyClient(
  baseUrl: string,
  apiKey: string,
  options?: StorageKeyOptions,
): StorageKeyClient {
  return new StorageKeyClient(baseUrl, apiKey, options)
}
