import { openText, sealText } from '@plinth/kit'
import type { ProviderName } from '../../database/tables.ts'
import { createLocalProvider } from './local.ts'
import { createObjectProvider } from './object.ts'
import type { Patience } from './object-client.ts'
import type { ProviderSettings, Providers, StorageProvider } from './provider.ts'

type Keeping = { root: string; masterKey: Buffer; patience: Patience }

/** Opens providers, and keeps each one open as long as its location's settings stay the same. */
export function createProviders({ root, masterKey, patience }: Keeping): Providers {
  const open = new Map<number, { sealedSettings: string; provider: StorageProvider }>()

  const trial = (settings: ProviderSettings, prefix?: string) =>
    settings.provider === 'LOCAL'
      ? createLocalProvider({ root, path: settings.local.path, prefix })
      : createObjectProvider(settings.object, patience, prefix)

  const unseal = (provider: ProviderName, sealed: string): ProviderSettings =>
    JSON.parse(openText(masterKey, sealed, purposeOf(provider)))

  return {
    trial,
    unseal,
    seal: (settings) => sealText(masterKey, JSON.stringify(settings), purposeOf(settings.provider)),
    at({ id, provider: name, prefix, sealedSettings }) {
      const known = open.get(id)
      if (known?.sealedSettings === sealedSettings) return known.provider
      // The one it replaces is left to finish its transfers; idle connections close by themselves.
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
