import { randomUUID } from 'node:crypto'
import { join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { accountData } from '@plinth/accounts'
import { openDatabase, withLease } from '@plinth/kit/database'
import { createLogger, type Logger } from '@plinth/kit/logging'
import { type Clock, makeDataFolder, systemClock } from '@plinth/kit/runtime'
import type { StorageFullConfig } from '../config.ts'
import { storageMigrations } from '../database/migrations/index.ts'
import { SEALED_COLUMNS, type StorageTables } from '../database/tables.ts'
import { spoolBytes } from '../files/bytes.ts'
import { findObjectNames } from '../files/files.repository.ts'
import {
  besideNameOf,
  HELD_FOR_BACKUP,
  HOLD_SECONDS,
  objectNameOf,
  type Storage,
} from '../files/storage.ts'
import { findLocation, keepLocationHere, listLocations } from '../locations/locations.ts'
import type { Location } from '../locations/providers/provider.ts'
import { recountTotals } from './sweep.repository.ts'
import { verifyFiles } from './verify.ts'

/** `restore` fills the storage; `scratch` does too, but keeps the objects of buckets below the root. */
type BackupMode = 'backup' | 'restore' | 'scratch'

export type OpenStorage = (
  config: StorageFullConfig,
  surroundings: { clock: Clock; log: Logger },
) => Promise<{ storage: Storage; database: { close(): Promise<void> } }>

/** The data of this service that a backup must contain. */
export function dataOpenedBy(open: OpenStorage) {
  return (config: StorageFullConfig) => {
    const data = accountData('storage-full', 'STORAGE_FULL_', config, {
      migrations: storageMigrations,
      sealed: SEALED_COLUMNS,
    })
    const { afterRestore } = data.database
    const database = {
      ...data.database,
      // A backup has no unfinished uploads and no renditions: what uploads reserve is gone when the totals are counted again.
      derived: [
        ...['file_totals', 'file_total_parts', 'uploads', 'upload_parts'],
        ...['pictures', 'renditions'],
      ],
      afterRestore: async (...restored: Parameters<typeof afterRestore>) => {
        await afterRestore(...restored)
        await recount(restored[0])
      },
    }
    return { ...data, database, root: config.root, files: storedFilesOf(config, open) }
  }
}

async function recount(url: string): Promise<void> {
  const options = { restoring: true }
  const { db, close } = await openDatabase<StorageTables>(url, storageMigrations, options)
  try {
    await recountTotals(db)
  } finally {
    await close()
  }
}

/** How a backup or a restore accesses the files of the service, which may be running. */
function storedFilesOf(config: StorageFullConfig, open: OpenStorage) {
  return async (mode: BackupMode, root = config.root) => {
    const isRestore = mode !== 'backup'
    if (isRestore) makeDataFolder(root, 'SUITE_DATA or STORAGE_FULL_ROOT')
    const spoolFolder = join(root, relative(config.root, config.spoolFolder))
    const database = { ...config.database, restoring: isRestore }
    const log = createLogger('storage-full', 'error')
    const opened = await open(
      { ...config, root, spoolFolder, database },
      { clock: systemClock, log },
    )
    const closeStorage = async () => {
      opened.storage.providers.close()
      await opened.database.close()
    }
    try {
      const { release, ...files } = await openStoredFiles(opened.storage, mode)
      return { ...files, close: () => release().finally(closeStorage) }
    } catch (error) {
      await closeStorage()
      throw error
    }
  }
}

type Opened = { storage: Storage; locations: Location[] }

/** The files of every location. A name is `<location>/<key>`. */
async function openStoredFiles(storage: Storage, mode: BackupMode) {
  const opened = { storage, locations: await prepare(storage, mode) }
  const hold = holdOf(storage)
  return {
    hold: hold.begin,
    list: () => listObjects(opened, hold),
    open: (name: string) => openObject(opened, name),
    put: (file: { name: string; size: number }, bytes: Readable) => putObject(opened, file, bytes),
    check: () => differences(storage),
    release: hold.end,
  }
}

type Hold = { begin(): Promise<void>; isLost(): boolean; end(): Promise<void> }

/** While it lasts, no node removes an object. */
function holdOf({ db }: Storage): Hold {
  const released = Promise.withResolvers<void>()
  const held = Promise.withResolvers<AbortSignal>()
  let holding: ReturnType<typeof withLease> | undefined
  let lost: AbortSignal | undefined
  return {
    async begin() {
      holding = withLease(db, `${HELD_FOR_BACKUP}${randomUUID()}`, HOLD_SECONDS, (signal) => {
        held.resolve(signal)
        return released.promise
      })
      const signal = await Promise.race([held.promise, holding])
      if (signal instanceof AbortSignal) lost = signal
    },
    isLost: () => lost?.aborted ?? false,
    async end() {
      released.resolve()
      await holding
    },
  }
}

async function* listObjects({ storage, locations }: Opened, hold: Hold) {
  for (const location of locations) {
    const provider = storage.providers.at(location)
    for await (const key of provider.list(location.prefix)) {
      // Can be made again, and may be removed at any time.
      if (besideNameOf(key) !== undefined) continue
      const size = await provider.sizeOf(key)
      if (size !== undefined) yield { name: `${location.id}/${key}`, size }
    }
  }
  if (hold.isLost()) throw new Error('Deletions could not be held back until the backup ended.')
}

function objectAt({ storage, locations }: Opened, name: string) {
  const [id, ...key] = name.split('/')
  const location = locations.find((one) => String(one.id) === id)
  if (!location) throw new Error(`There is no location for ${name}.`)
  return { location, provider: storage.providers.at(location), key: key.join('/') }
}

async function openObject(opened: Opened, name: string): Promise<Readable | undefined> {
  const { location, provider, key } = objectAt(opened, name)
  const bytes = await provider.open(key)
  if (bytes) return bytes
  // Deletions are held back, but an upload that failed removes its own object, which no file refers to.
  const objectName = objectNameOf(key)
  const named = await findObjectNames(opened.storage.db, location.id, [objectName])
  if (named.has(objectName)) throw new Error(`The object of ${name} is gone.`)
  return undefined
}

/** Object names are never reused: an object of that name in the bucket is the same one. */
async function putObject(
  opened: Opened,
  { name, size }: { name: string; size: number },
  bytes: Readable,
): Promise<void> {
  const { location, provider, key } = objectAt(opened, name)
  if (location.provider === 'OBJECT' && (await provider.sizeOf(key)) === size) return
  await using content = await spoolBytes(bytes, opened.storage.spoolFolder, { sha256: true })
  const checksumSha256 = content.sha256 ?? ''
  await provider.put(key, { content, contentType: 'application/octet-stream', checksumSha256 })
}

/** Orphans are expected: an upload in flight during the backup has an object but no row. */
async function* differences(storage: Storage) {
  for await (const finding of verifyFiles(storage))
    if (finding !== 'sound' && finding.problem !== 'orphan')
      yield `${finding.problem}: ${finding.subject}`
}

async function prepare(storage: Storage, mode: BackupMode): Promise<Location[]> {
  const locations = await listLocations(storage.db)
  if (mode === 'backup') return locations
  const prepared: Location[] = []
  for (const { id } of locations) {
    if (mode === 'scratch') await keepLocationHere(storage, id)
    const location = (await findLocation(storage.db, id)) as Location
    if (location.provider === 'LOCAL') await storage.providers.at(location).prepare()
    prepared.push(location)
  }
  return prepared
}
