import { join, resolve } from 'node:path'
import {
  databaseOptions,
  databaseUrl,
  type Env,
  readSettings,
  type ServiceSettings,
  type Settings,
  serviceSettings,
} from '@plinth/kit/runtime'

export type StorageKeyConfig = ReturnType<typeof loadConfig>

/** Public: the tester page fills it in. */
export const DEVELOPMENT_KEY = 'storage-local-dev-key'

const PREFIX = 'STORAGE_KEY_'

const MIN_KEY_CHARACTERS = 20

const TEN_MEGABYTES = 10 * 1024 * 1024

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => {
    const service = serviceSettings(settings, PREFIX, { port: 8083 })
    return {
      ...service,
      production: settings.production,
      /** The database of service keys, and of nothing else; without it there are none. */
      databaseUrl: keyDatabase(settings, service),
      database: databaseOptions(settings, PREFIX),
      apiKey: apiKey(settings, service),
      root: resolve(settings.text('STORAGE_KEY_ROOT', join(service.dataFolder, 'storage-key'))),
      actuator: settings.choice('STORAGE_KEY_ACTUATOR', ['health', 'full'], 'health'),
      maxFileBytes: settings.size('STORAGE_KEY_MAX_FILE_SIZE', TEN_MEGABYTES),
      maxRequestBytes: settings.size('STORAGE_KEY_MAX_REQUEST_SIZE', TEN_MEGABYTES),
    }
  })
}

function keyDatabase(settings: Settings, { dataFolder }: ServiceSettings): string | undefined {
  if (settings.optional('STORAGE_KEY_DATABASE_URL') === undefined) return undefined
  return databaseUrl(settings, PREFIX, dataFolder, 'storage-key')
}

function apiKey(settings: Settings, service: ServiceSettings): string {
  const name = 'STORAGE_KEY_API_KEY'
  const refuse = (expected: string) => settings.fault(name, expected, '$(openssl rand -base64 24)')
  const given = settings.raw(name)?.trim()
  if (given === '') refuse('Expected a key that is not blank, or no setting at all.')
  else if (/[^\x20-\x7e]/.test(given ?? ''))
    refuse('Expected printable ASCII: anything else cannot be sent in a header.')
  else settings.secret(name, { fewest: MIN_KEY_CHARACTERS })
  const key = given ?? DEVELOPMENT_KEY
  if (key !== DEVELOPMENT_KEY) return key
  const instead = `Or set ${name} to a key of your own.`
  if (!settings.convenience('STORAGE_KEY_DEVELOPMENT_KEY', service, instead))
    refuse(
      'Expected a key of your own. STORAGE_KEY_DEVELOPMENT_KEY=true accepts the development key.',
    )
  return key
}
