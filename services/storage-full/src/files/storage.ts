import { randomUUIDv7 } from 'node:crypto'
import type { FileType } from '@plinth/kit'
import type { FileState, ThumbnailState } from '../database/tables.ts'
import type { LocationContext } from '../locations/locations.ts'
import type { Location } from '../locations/providers/provider.ts'
import type { Quota } from './usage/usage.repository.ts'

/** What the rules of this service work with. */
export type Storage = LocationContext & {
  /** Runs what a deletion writes, which must work on a full disk. */
  withReserve<R>(work: () => Promise<R>): Promise<R>
  /** Where uploads wait until they are complete; on the file system of the storage root. */
  spoolFolder: string
  publicUrl: string
  /** Of a service key, or of a user of the trusted issuer; false for those of another issuer. */
  isEnabledElsewhere(ownerId: string): Promise<boolean>
  /** Who may embed what a temporary link opens. */
  embed: 'same-origin' | 'anyone'
  limits: {
    maxFileBytes: number
    /** The most that one owner may have stored. */
    quota: Quota
    acceptedTypes: FileType[]
    /** How long an object may have no file before the sweeper removes it. */
    orphanAgeSeconds: number
    /** How long a deletion can be undone that was asked for with `restorable`. */
    restorableSeconds: number
  }
}

/** A file as the rules see it: what is known of it, and where its bytes are. */
export type StoredFile = {
  id: number
  ownerId: string
  ownerName: string
  originalFilename: string
  storedFilename: string
  extension: string
  contentType: string
  sizeBytes: number
  checksumSha256: string
  state: FileState
  thumbnail: ThumbnailState
  createdAt: string
  location: Location
  objectName: string
}

export type NewFile = Omit<StoredFile, 'id' | 'state' | 'thumbnail'>

/** Where the bytes of a file are. */
export type ObjectAddress = Pick<StoredFile, 'location' | 'objectName'>

/** The names of leases that start so ask for nothing to be removed: a backup is reading. */
export const HELD_FOR_BACKUP = 'backup-of-files:'
export const HOLD_SECONDS = 30

/** Accounts of this service have numbers; users of the trusted issuer and service keys do not. */
export function isForeign(ownerId: string): boolean {
  return !/^\d+$/.test(ownerId)
}

/** The id of an owner as clients see it. */
export function shownOwnerId(ownerId: string): number | string {
  return isForeign(ownerId) ? ownerId : Number(ownerId)
}

const THUMBNAIL_SUFFIX = '.thumbnail.jpg'

/**
 * Every object gets a name that was never used before. A process that removes one late, after a
 * pause or a lost lease, therefore never removes an object in use.
 * Version 7 (RFC 9562) puts the names of one time next to each other in the index, so that a commit
 * of many uploads writes half as many pages.
 */
export function newObjectName(extension: string): string {
  return `${randomUUIDv7()}.${extension}`
}

/** The key of the file's bytes at its location. */
export function objectKey({ location, objectName }: ObjectAddress): string {
  return `${location.prefix}/${objectName}`
}

/** The thumbnail is kept beside the object, under the object's name. */
export function thumbnailKey(address: ObjectAddress): string {
  return `${objectKey(address)}${THUMBNAIL_SUFFIX}`
}

/** The object that a key belongs to, its own or that of its thumbnail. */
export function objectNameOf(key: string): string {
  const name = key.slice(key.lastIndexOf('/') + 1)
  return name.endsWith(THUMBNAIL_SUFFIX) ? name.slice(0, -THUMBNAIL_SUFFIX.length) : name
}
