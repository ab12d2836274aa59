import {
  type AccountCalls,
  type AccountsOptions,
  accountCalls,
  type OpenSession,
  openSession,
  type Page,
  type PageQuery,
} from './accounts.ts'
import { type DownloadOptions, download } from './http/download.ts'
import { jsonOf, nothingOf, type Send, segmentOf } from './http/request.ts'
import { type UploadOptions, uploadOf } from './http/upload.ts'
import {
  type EventCalls,
  eventCalls,
  type ProtectedResourceCalls,
  protectedResourceCalls,
  type ServiceKeyCalls,
  serviceKeyCalls,
} from './operations.ts'

export type ProviderName = 'LOCAL' | 'OBJECT'

export type StoredFile = {
  id: number
  originalFilename: string
  storedFilename: string
  extension: string
  contentType: string
  size: number
  checksumSha256: string
  owner: string
  ownerId: number | string
  provider: ProviderName
  createdAt: string
}

/** A deleted file that can be restored. */
export type RestorableFile = StoredFile & { deletedAt: string; restorableUntil: string }

export type TemporaryLink = {
  id: number
  token: string
  url: string
  expiresInSeconds: number
  expiresAt: string
}

/** What an owner has stored, and the limits; null where there is no limit. */
export type StorageUsage = {
  files: number
  bytes: number
  maxFiles: number | null
  maxBytes: number | null
}

export type OwnerUsage = StorageUsage & { ownerId: number | string; owner: string | null }

export type ProviderState = { configured: boolean; available: boolean; active: boolean }

/** The settings in use, which may differ from those saved for the next activation. */
export type ActiveLocation =
  | { provider: 'LOCAL'; path: string }
  | {
      provider: 'OBJECT'
      endpoint: string
      region: string
      bucket: string
      pathStyleAccess: boolean
    }

/** A place that has or had files. `files` counts those that are read from there, up to 10,000. */
export type StorageLocation = {
  id: number
  location: ActiveLocation
  active: boolean
  files: number
}

export type StorageStatus = {
  activeProvider: ProviderName
  activeLocation: ActiveLocation
  configured: boolean
  available: boolean
  providers: Record<ProviderName, ProviderState>
}

export type StorageConfig = {
  activeProvider: ProviderName
  activeLocation: ActiveLocation
  /** Whether the saved settings of the active provider differ from those in use. */
  pendingChanges: boolean
  local: { configured: boolean; path: string | null }
  object: {
    configured: boolean
    endpoint: string | null
    region: string | null
    bucket: string | null
    pathStyleAccess: boolean | null
    accessKeyPresent: boolean
    secretKeyPresent: boolean
  }
}

export type ObjectSettings = {
  endpoint: string
  region: string
  bucket: string
  accessKey?: string | undefined
  secretKey?: string | undefined
  pathStyleAccess?: boolean | undefined
}

export type StorageTest = {
  provider: ProviderName
  success: boolean
  available: boolean
  message: string
  steps: { name: string; passed: boolean; message: string }[]
}

/** A link as its owner sees it later: without the token. */
export type Link = {
  id: number
  createdAt: string
  expiresAt: string
  openedCount: number
  lastOpenedAt: string | null
}

export type Move = {
  id: number
  to: ProviderName
  state: 'RUNNING' | 'DONE' | 'CANCELLED'
  total: number
  moved: number
  failed: number
  movedBytes: number
  lastError: string | null
  requestedBy: string
  createdAt: string
  updatedAt: string
}

export type FileCalls = {
  upload(file: Blob, filename: string, options?: UploadOptions): Promise<StoredFile>
  /** `ownerId` is for administrators: the files of one owner. */
  files(query?: Omit<PageQuery, 'sort'> & { ownerId?: string | undefined }): Promise<StoredFile[]>
  file(id: number): Promise<StoredFile>
  /** The response, so that its body can be streamed. It resumes when the connection breaks. */
  download(id: number, options?: DownloadOptions): Promise<Response>
  /** Like `download`, for display in a page. */
  stream(id: number, options?: DownloadOptions): Promise<Response>
  thumbnail(id: number): Promise<Response>
  remove(id: number): Promise<void>
  /** Deletes the file for everyone, but keeps its bytes for a while. */
  removeRestorably(id: number): Promise<RestorableFile>
  /** The files that can still be restored, last deleted first. */
  deletedFiles(query?: PageQuery & { ownerId?: string | undefined }): Promise<Page<RestorableFile>>
  restore(id: number): Promise<StoredFile>
  createLink(id: number, expiresInSeconds: number): Promise<TemporaryLink>
  links(id: number): Promise<Link[]>
  revokeLink(id: number, linkId: number): Promise<void>
  openLink(token: string): Promise<Response>
  usage(): Promise<StorageUsage>
}

/** For administrators. */
export type StorageAdministrationCalls = {
  status(): Promise<StorageStatus>
  config(): Promise<StorageConfig>
  locations(): Promise<StorageLocation[]>
  usageOfOwners(query?: PageQuery): Promise<Page<OwnerUsage>>
  configureLocal(path: string): Promise<StorageConfig>
  configureObject(settings: ObjectSettings): Promise<StorageConfig>
  testLocal(): Promise<StorageTest>
  testObject(): Promise<StorageTest>
  activate(provider: ProviderName): Promise<StorageStatus>
  /** Copies the files to the other location in the background. */
  startMove(to: ProviderName): Promise<Move>
  moves(): Promise<Move[]>
  move(id: number): Promise<Move>
  cancelMove(id: number): Promise<Move>
}

export type StorageClient = AccountCalls &
  FileCalls &
  StorageAdministrationCalls &
  ServiceKeyCalls &
  EventCalls &
  ProtectedResourceCalls

export function storageClient(baseUrl: string, options: AccountsOptions = {}): StorageClient {
  const opened = openSession(baseUrl, options)
  return {
    ...accountCalls(opened),
    ...fileCalls(opened),
    ...administrationCalls(opened.calling),
    ...serviceKeyCalls(opened.calling),
    ...eventCalls(opened.calling),
    ...protectedResourceCalls(opened.send),
  }
}

const UPLOAD_LASTS_MS = 300_000

function fileCalls({ send, calling, session }: OpenSession): FileCalls {
  return {
    upload: (file, filename, options) =>
      jsonOf(session.send('POST', '/file', uploadOf(file, filename, options), UPLOAD_LASTS_MS)),
    files: (query) => jsonOf(calling('GET', '/file/list', { query })),
    file: (id) => jsonOf(calling('GET', `/file/info/${id}`)),
    download: (id, options) => download(calling, `/file/download/${id}`, options),
    stream: (id, options) => download(calling, `/file/stream/${id}`, options),
    thumbnail: (id) => calling('GET', `/file/thumbnail/${id}`),
    remove: (id) => nothingOf(calling('DELETE', `/file/${id}`)),
    removeRestorably: (id) =>
      jsonOf(calling('DELETE', `/file/${id}`, { query: { restorable: 'true' } })),
    deletedFiles: (query) => jsonOf(calling('GET', '/file/deleted', { query })),
    restore: (id) => jsonOf(calling('POST', `/file/${id}/restore`)),
    createLink: (id, expiresInSeconds) => {
      const json = { id, expiresInSeconds }
      return jsonOf(calling('POST', '/file/generate-pre-signed-url', { json }))
    },
    links: (id) => jsonOf(calling('GET', `/file/${id}/links`)),
    revokeLink: (id, linkId) => nothingOf(calling('DELETE', `/file/${id}/links/${linkId}`)),
    openLink: (token) => send('GET', `/file/presigned/${segmentOf(token)}`, { stream: true }),
    usage: () => jsonOf(calling('GET', '/file/usage')),
  }
}

function administrationCalls(calling: Send): StorageAdministrationCalls {
  return {
    status: () => jsonOf(calling('GET', '/api/storage/status')),
    config: () => jsonOf(calling('GET', '/api/storage/config')),
    locations: () => jsonOf(calling('GET', '/api/storage/locations')),
    usageOfOwners: (query) => jsonOf(calling('GET', '/api/storage/usage', { query })),
    configureLocal: (path) =>
      jsonOf(calling('PUT', '/api/storage/config/local', { json: { path } })),
    configureObject: (json) => jsonOf(calling('PUT', '/api/storage/config/object', { json })),
    testLocal: () => jsonOf(calling('POST', '/api/storage/test/local')),
    testObject: () => jsonOf(calling('POST', '/api/storage/test/object')),
    activate: (provider) => jsonOf(calling('PUT', '/api/storage/provider', { json: { provider } })),
    startMove: (to) => jsonOf(calling('POST', '/api/storage/moves', { json: { to } })),
    moves: () => jsonOf(calling('GET', '/api/storage/moves')),
    move: (id) => jsonOf(calling('GET', `/api/storage/moves/${id}`)),
    cancelMove: (id) => jsonOf(calling('DELETE', `/api/storage/moves/${id}`)),
  }
}
