import { stat } from 'node:fs/promises'
import {
  type Clock,
  type Database,
  type Logger,
  makeDataFolder,
  openDatabase,
  sweepSpools,
} from '@plinth/kit'
import type { StorageFullConfig } from './config.ts'
import { findActiveLocation } from './locations.repository.ts'
import { createProviders } from './locations.ts'
import { storageMigrations } from './migrations/index.ts'
import { prepareFirstStart, requireReadableSettings } from './provider-settings.ts'
import { spoolFolderIn } from './spool-folder.ts'
import type { Storage } from './storage.ts'
import type { StorageTables } from './tables.ts'
import { createThumbnailWork } from './thumbnail-maker.ts'
import { makeUnusedFolders } from './unused-folders.ts'

export type OpenStorage = { storage: Storage; database: Database<StorageTables> }

/** Everything but HTTP: for the service, and for the command line beside it. */
export async function openStorage(
  config: StorageFullConfig,
  { clock, log }: { clock: Clock; log: Logger },
): Promise<OpenStorage> {
  const database = await openDatabase<StorageTables>(config.databaseUrl, storageMigrations, { log })
  const storage: Storage = {
    db: database.db,
    clock,
    log,
    providers: createProviders({ ...config, masterKey: config.accounts.masterKey }),
    thumbnails: createThumbnailWork(),
    spoolFolder: spoolFolderIn(config.root),
    publicUrl: config.publicUrl,
    limits: config.limits,
  }
  try {
    await requireReadableSettings(storage)
    await prepareRoot(storage, config.root)
    await makeUnusedFolders(storage, config.root)
    await prepareFirstStart(storage)
  } catch (error) {
    await database.close()
    throw error
  }
  return { storage, database }
}

/**
 * The root is made while no files of ours are in it. Later a missing one is a disk that is not
 * mounted: the service starts, and refuses uploads until the disk is back.
 */
async function prepareRoot({ db, log, spoolFolder }: Storage, root: string): Promise<void> {
  const active = await findActiveLocation(db)
  if (active?.provider !== 'LOCAL') makeDataFolder(root, 'SUITE_DATA or STORAGE_FULL_ROOT')
  const present = await stat(root).catch(() => undefined)
  if (present) await sweepSpools(spoolFolder)
  else log.error('the storage root does not exist: mount its disk, or create it')
}
