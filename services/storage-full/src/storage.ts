import type { Clock, Db, FileType, Logger } from '@plinth/kit'
import type { Providers } from './locations.ts'
import type { StorageTables } from './tables.ts'
import type { ThumbnailWork } from './thumbnail-maker.ts'

/** What the rules of this service work with. */
export type Storage = {
  db: Db<StorageTables>
  clock: Clock
  log: Logger
  providers: Providers
  thumbnails: ThumbnailWork
  /** Where uploads wait until they are complete; on the file system of the storage root. */
  spoolFolder: string
  publicUrl: string
  limits: StorageLimits
}

export type StorageLimits = {
  maxFileBytes: number
  acceptedTypes: FileType[]
  /** Look at the structure of a file, not only at its signature. */
  wholeFiles: boolean
  /** How long an object may have no file before it is taken for a leftover. */
  orphanAgeSeconds: number
  /** Object stores an administrator may name; everything when empty. */
  objectEndpoints: string[]
}
