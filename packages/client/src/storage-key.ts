import type { AuditEvent, Page, PageQuery } from './accounts.ts'
import { type DownloadOptions, download } from './http/download.ts'
import {
  type ClientOptions,
  foundOf,
  jsonOf,
  type Send,
  segmentOf,
  sender,
  textOf,
} from './http/request.ts'
import { type UploadOptions, uploadOf } from './http/upload.ts'
import {
  type OperationsCalls,
  operationsCalls,
  type ServiceKeyCalls,
  serviceKeyCalls,
} from './operations.ts'

export type FileMetadata = { name: string; sizeKB: number; mimeType: string; lastModified: string }

/** Service keys and their audit need the configured key, and a service that has a database. */
export type StorageKeyClient = OperationsCalls &
  ServiceKeyCalls & {
    audit(query?: PageQuery): Promise<Page<Omit<AuditEvent, 'result'>>>
    /** Returns the name the file is stored under; later calls take that name. */
    upload(file: Blob, filename: string, options?: UploadOptions): Promise<string>
    list(): Promise<string[]>
    info(name: string): Promise<FileMetadata>
    /** The response, so that its body can be streamed. It resumes when the connection breaks. */
    download(name: string, options?: DownloadOptions): Promise<Response>
    /** False if there was no such file. */
    remove(name: string): Promise<boolean>
  }

/** The key is the configured one, or a service key. */
export function storageKeyClient(
  baseUrl: string,
  apiKey: string,
  options: Omit<ClientOptions, 'accessToken'> = {},
): StorageKeyClient {
  const plain = sender(baseUrl, options)
  const send: Send = (method, path, call = {}) =>
    plain(method, path, { ...call, headers: { ...call.headers, 'x-api-key': apiKey } })
  // A URL cannot end in the segment `..`, which would lead to the page above. With a slash the service gets
  // to see the name, and refuses it.
  const pathOf = (name: string) => segmentOf(name === '..' ? '../' : name)
  return {
    ...operationsCalls(plain),
    ...serviceKeyCalls(send),
    audit: (query) => jsonOf(send('GET', '/api/audit', { query })),
    upload: (file, filename, given) =>
      textOf(send('POST', '/file', uploadOf(file, filename, given))),
    list: () => jsonOf(send('GET', '/file/list')),
    info: (name) => jsonOf(send('GET', `/file/info/${pathOf(name)}`)),
    download: (name, given) => download(send, `/file/${pathOf(name)}`, given),
    remove: (name) => foundOf(send('DELETE', `/file/${pathOf(name)}`)),
  }
}
