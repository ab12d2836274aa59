import type { Reply } from '../../family/api/api.ts'
import { session } from '../session.ts'

export type ProviderName = 'LOCAL' | 'OBJECT'

type ProviderState = { configured: boolean; available: boolean; active: boolean }

export type StorageStatus = {
  activeProvider: ProviderName
  available: boolean
  providers: Record<ProviderName, ProviderState>
}

export type StorageConfig = {
  activeProvider: ProviderName
  local: { configured: boolean; path: string | null }
  object: {
    configured: boolean
    endpoint: string | null
    region: string | null
    bucket: string | null
    pathStyleAccess: boolean
    accessKeyPresent: boolean
    secretKeyPresent: boolean
  }
}

export type ProbeStep = { name: string; passed: boolean; message: string }

const FOLDERS: Record<ProviderName, string> = { LOCAL: 'local', OBJECT: 'object' }

export const saveSettings = (provider: ProviderName, settings: object): Promise<Reply> =>
  session.api.put(`/api/storage/config/${FOLDERS[provider]}`, settings)

export const testProvider = (provider: ProviderName): Promise<Reply> =>
  session.api.post(`/api/storage/test/${FOLDERS[provider]}`)

export const activateProvider = (provider: ProviderName): Promise<Reply> =>
  session.api.put('/api/storage/provider', { provider })
