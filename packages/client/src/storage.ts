import { accountCalls, type Page, type PageQuery } from './accounts.ts'
import { type ClientOptions, jsonOf, nothingOf, sender } from './request.ts'

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

export type TemporaryLink = {
  id: number
  token: string
  url: string
  expiresInSeconds: number
  expiresAt: string
}

/** What an owner has stored, and the most it may be; null where there is no limit. */
export type StorageUsage = {
  files: number
  bytes: number
  maxFiles: number | null
  maxBytes: number | null
}

export type OwnerUsage = StorageUsage & { ownerId: number | string; owner: string | null }

type ProviderState = { configured: boolean; available: boolean; active: boolean }

/** The settings in use: they may differ from those that are saved for the next activation. */
export type ActiveLocation =
  | { provider: 'LOCAL'; path: string }
  | {
      provider: 'OBJECT'
      endpoint: string
      region: string
      bucket: string
      pathStyleAccess: boolean
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
  /** What is saved for the active provider is not what is in use. */
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
  accessKey?: string
  secretKey?: string
  pathStyleAccess?: boolean
}

export function storageClient(baseUrl: string, options?: ClientOptions) {
  const send = sender(baseUrl, options)
  const accounts = accountCalls(send)
  const { session } = accounts
  return {
    ...accounts,
    upload: (file: Blob, filename: string, signal?: AbortSignal) => {
      const body = new FormData()
      body.set('file', file, filename)
      return jsonOf<StoredFile>(session.send('POST', '/file', { body, signal }))
    },
    files: (query: { page?: number; size?: number } = {}) =>
      jsonOf<StoredFile[]>(session.send('GET', '/file/list', { query })),
    file: (id: number) => jsonOf<StoredFile>(session.send('GET', `/file/info/${id}`)),
    /** The response, so that its body can be streamed. */
    download: (id: number, headers?: Record<string, string>) =>
      session.send('GET', `/file/download/${id}`, { headers }),
    stream: (id: number, headers?: Record<string, string>) =>
      session.send('GET', `/file/stream/${id}`, { headers }),
    thumbnail: (id: number) => session.send('GET', `/file/thumbnail/${id}`),
    remove: (id: number) => nothingOf(session.send('DELETE', `/file/${id}`)),
    createLink: (id: number, expiresInSeconds: number) => {
      const json = { id, expiresInSeconds }
      return jsonOf<TemporaryLink>(session.send('POST', '/file/generate-pre-signed-url', { json }))
    },
    openLink: (token: string) => send('GET', `/file/presigned/${encodeURIComponent(token)}`),
    usage: () => jsonOf<StorageUsage>(session.send('GET', '/file/usage')),
    administration: {
      status: () => jsonOf<StorageStatus>(session.send('GET', '/api/storage/status')),
      config: () => jsonOf<StorageConfig>(session.send('GET', '/api/storage/config')),
      usage: (query?: PageQuery) =>
        jsonOf<Page<OwnerUsage>>(session.send('GET', '/api/storage/usage', { query })),
      configureLocal: (path: string) =>
        jsonOf<StorageConfig>(session.send('PUT', '/api/storage/config/local', { json: { path } })),
      configureObject: (json: ObjectSettings) =>
        jsonOf<StorageConfig>(session.send('PUT', '/api/storage/config/object', { json })),
      test: (provider: ProviderName) =>
        jsonOf<{ success: boolean; message: string; steps: unknown[] }>(
          session.send('POST', `/api/storage/test/${provider.toLowerCase()}`),
        ),
      activate: (provider: ProviderName) =>
        jsonOf<StorageStatus>(session.send('PUT', '/api/storage/provider', { json: { provider } })),
    },
  }
}
