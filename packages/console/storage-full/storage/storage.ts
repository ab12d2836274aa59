import type { ProviderName } from '@plinth/client'
import type { Reply } from '../../family/api/api.ts'
import { session } from '../session.ts'

export type ProbeStep = { name: string; passed: boolean; message: string }

const FOLDERS: Record<ProviderName, string> = { LOCAL: 'local', OBJECT: 'object' }

export const saveSettings = (provider: ProviderName, settings: object): Promise<Reply> =>
  session.api.put(`/api/storage/config/${FOLDERS[provider]}`, settings)

export const testProvider = (provider: ProviderName): Promise<Reply> =>
  session.api.post(`/api/storage/test/${FOLDERS[provider]}`)

export const activateProvider = (provider: ProviderName): Promise<Reply> =>
  session.api.put('/api/storage/provider', { provider })
