import { join, resolve } from 'node:path'
import { accountSettings } from '@plinth/accounts'
import { eventSettings } from '@plinth/events'
import { FILE_TYPES, fileTypes, HOST_NAME } from '@plinth/kit/files'
import {
  DAY_SECONDS,
  databaseOptions,
  databaseUrl,
  type Env,
  HOUR_SECONDS,
  issuerKey,
  readSettings,
  reauthenticate,
  type Settings,
  serviceSettings,
} from '@plinth/kit/runtime'
import { pictureSettings } from './picture-settings.ts'
import { scanSettings } from './scan-settings.ts'

export type StorageFullConfig = ReturnType<typeof loadConfig>

const PREFIX = 'STORAGE_FULL_'
const MAX_FILE_BYTES = 104_857_600
/** Every one of them is held in memory while an archive is sent. */
const MAX_ZIP_FILES = 100_000
export const MAX_RESTORABLE_SECONDS = 365 * DAY_SECONDS
/** Every replacement looks at all kept versions of its file. */
export const MAX_VERSIONS = 1_000

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => {
    const service = serviceSettings(settings, PREFIX, { port: 8082 })
    const { host, publicUrl, dataFolder } = service
    const root = resolve(settings.text('STORAGE_FULL_ROOT', join(dataFolder, 'storage-full')))
    return {
      ...service,
      production: settings.production,
      databaseUrl: databaseUrl(settings, PREFIX, dataFolder, 'storage-full'),
      database: databaseOptions(settings, PREFIX),
      root,
      // Several machines may share a root; each has a spool folder of its own.
      spoolFolder: join(root, '.incoming', HOST_NAME),
      storeTimeouts: {
        connectMs: 2_000,
        answerMs:
          1000 *
          settings.integer('STORAGE_FULL_OBJECT_TIMEOUT_SECONDS', 10, {
            min: 1,
            max: HOUR_SECONDS,
          }),
      },
      trustedIssuer: trustedIssuer(settings),
      embed: settings.choice('STORAGE_FULL_EMBED', ['same-origin', 'anyone'] as const, 'anyone'),
      limits: {
        maxFileBytes: settings.size('STORAGE_FULL_MAX_FILE_SIZE', MAX_FILE_BYTES),
        quota: quota(settings),
        acceptedTypes: acceptedTypes(settings),
        orphanAgeSeconds: orphanAgeSeconds(settings),
        restorableSeconds: settings.integer('STORAGE_FULL_RESTORABLE_SECONDS', 30 * DAY_SECONDS, {
          min: 1,
          max: MAX_RESTORABLE_SECONDS,
        }),
        trashBytes: settings.size('STORAGE_FULL_TRASH_BYTES', 0, { min: 0 }) || undefined,
        versions: settings.integer('STORAGE_FULL_VERSIONS', 0, { max: MAX_VERSIONS }),
        objectEndpoints: objectEndpoints(settings),
      },
      uploads: {
        perOwner: settings.integer('STORAGE_FULL_UPLOADS_PER_USER', 100, { min: 1, max: 10_000 }),
        expiresSeconds: settings.integer('STORAGE_FULL_UPLOAD_EXPIRES_SECONDS', DAY_SECONDS, {
          min: 1,
          max: 31 * DAY_SECONDS,
        }),
      },
      pictures: pictureSettings(settings),
      scan: scanSettings(settings),
      /** The most that one archive may have. */
      zipFiles: settings.integer('STORAGE_FULL_ZIP_FILES', 10_000, { min: 1, max: MAX_ZIP_FILES }),
      events: eventSettings(settings),
      reauthenticate: reauthenticate(settings),
      accounts: {
        source: 'storage-full',
        ...accountSettings(settings, {
          name: 'storage-full',
          prefix: PREFIX,
          host,
          publicUrl,
          dataFolder,
          passwordMinLength: 8,
          registrations: ['open', 'closed'],
          logoutEndsCaller: true,
        }),
      },
    }
  })
}

function trustedIssuer(settings: Settings) {
  const name = 'STORAGE_FULL_TRUSTED_ISSUER'
  const key = issuerKey(settings, name)
  if (settings.optional(name) === undefined) return undefined
  const example = 'http://localhost:8081'
  const address =
    settings.optional(`${name}_ADDRESS`) && settings.trustedUrl(`${name}_ADDRESS`, example)
  return {
    // The URL must be trusted if the keys are read from it; with a separate address it is only a name.
    issuer: address ? settings.url(name, example) : settings.trustedUrl(name, example),
    address,
    plainJwt: settings.flag('STORAGE_FULL_TRUSTED_ISSUER_PLAIN_JWT', false),
    key,
  }
}

function objectEndpoints(settings: Settings) {
  const named = settings.list('STORAGE_FULL_OBJECT_ENDPOINTS', [])
  return { named, production: settings.production }
}

/** 0 means no limit. */
function quota(settings: Settings) {
  return {
    bytes: settings.size('STORAGE_FULL_USER_BYTES', 0, { min: 0 }) || undefined,
    files: settings.integer('STORAGE_FULL_USER_FILES', 0) || undefined,
  }
}

/** Longer than any upload takes between storing its bytes and inserting its row; shorter only in tests. */
function orphanAgeSeconds(settings: Settings): number {
  const min = settings.production ? HOUR_SECONDS : 0
  return settings.integer('STORAGE_FULL_ORPHAN_AGE_SECONDS', DAY_SECONDS, {
    min,
    max: 36_500 * DAY_SECONDS,
  })
}

/** Exactly the listed types; `default` stands for those accepted without the setting. */
function acceptedTypes(settings: Settings) {
  const name = 'STORAGE_FULL_ALLOWED_TYPES'
  const known = FILE_TYPES.map((type) => type.name)
  const byDefault = FILE_TYPES.filter(({ onRequest }) => !onRequest).map((type) => type.name)
  const chosen = settings
    .list(name, ['default'])
    .flatMap((type) => (type === 'default' ? byDefault : [type]))
  const accepted = known.filter((type) => chosen.includes(type))
  if (accepted.length < new Set(chosen).size)
    settings.fault(name, `Expected some of default, ${known.join(', ')}.`, 'default,csv,docx')
  return fileTypes(accepted)
}
