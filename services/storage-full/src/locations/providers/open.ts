import { openText, type Sealed, sealText } from '@plinth/kit/tokens'
import type { ProviderName } from '../../database/tables.ts'
import { type EndpointRules, forbiddenFor } from '../endpoints.ts'
import { createLocalProvider } from './local.ts'
import { createObjectProvider } from './object.ts'
import type { ProviderSettings, Providers, StorageProvider, StoreTimeouts } from './provider.ts'

type ProviderOptions = {
  root: string
  spoolFolder: string
  masterKey: Buffer
  storeTimeouts: StoreTimeouts
  endpoints: EndpointRules
}

/** Opens providers, and keeps each one open as long as its location's settings stay the same. */
export function createProviders(options: ProviderOptions): Providers {
  const { root, spoolFolder, masterKey, storeTimeouts, endpoints } = options
  const open = new Map<number, { sealedSettings: Sealed; provider: StorageProvider }>()

  const trial = (settings: ProviderSettings, prefix?: string) => {
    switch (settings.provider) {
      case 'LOCAL':
        return createLocalProvider({ root, spoolFolder, path: settings.local.path, prefix })
      case 'OBJECT': {
        const isForbidden = forbiddenFor(settings.object.endpoint, endpoints)
        return createObjectProvider(
          settings.object,
          { ...storeTimeouts, isForbidden, spoolFolder },
          prefix,
        )
      }
    }
  }

  const unseal = (provider: ProviderName, sealed: Sealed): ProviderSettings =>
    JSON.parse(openText(masterKey, sealed, purposeOf(provider)))

  return {
    trial,
    unseal,
    seal: (settings) => sealText(masterKey, JSON.stringify(settings), purposeOf(settings.provider)),
    at({ id, provider: name, prefix, sealedSettings }) {
      const known = open.get(id)
      if (known?.sealedSettings === sealedSettings) return known.provider
      // The replaced provider may finish its transfers; its idle connections close by themselves.
      const provider = trial(unseal(name, sealedSettings), prefix)
      open.set(id, { sealedSettings, provider })
      return provider
    },
    close: () => {
      for (const { provider } of open.values()) provider.close()
    },
  }
}

function purposeOf(provider: ProviderName): string {
  return `storage settings ${provider}`
}
