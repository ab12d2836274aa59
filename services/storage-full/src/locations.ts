import { openText, sealText } from '@plinth/kit'
import type { Location } from './location.ts'
import { createLocalProvider } from './providers/local.ts'
import { createObjectProvider } from './providers/object.ts'
import type { ObjectSettings, Patience } from './providers/object-client.ts'
import type { ProviderName, StorageProvider } from './providers/provider.ts'

export type LocalSettings = { path: string }

/** The settings of one provider, as they are saved and as a location keeps them. */
export type ProviderSettings =
  | { provider: 'LOCAL'; local: LocalSettings }
  | { provider: 'OBJECT'; object: ObjectSettings }

export type Providers = {
  /** The provider through which the files of a location are reached. */
  at(location: Location): StorageProvider
  /**
   * A provider for settings that are not in use yet; close it after use. The prefix is that of the
   * location they lead to, if there is one already.
   */
  trial(settings: ProviderSettings, prefix?: string): StorageProvider
  seal(settings: ProviderSettings): string
  unseal(provider: ProviderName, sealed: string): ProviderSettings
  close(): void
}

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

/** What makes two settings lead to the same files: new keys for a bucket do not move it. */
export function placeOf(settings: ProviderSettings): string {
  return settings.provider === 'LOCAL'
    ? settings.local.path
    : `${settings.object.endpoint} ${settings.object.bucket}`
}

function purposeOf(provider: ProviderName): string {
  return `storage settings ${provider}`
}
