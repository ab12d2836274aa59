import { randomUUIDv7 } from 'node:crypto'
import type { FileType } from '@plinth/kit'
import type { FileState, ThumbnailState } from '../database/tables.ts'
import type { LocationContext } from '../locations/locations.ts'
import type { Location } from '../locations/providers/provider.ts'

/** What the rules of this service work with. */
export type Storage = LocationContext & {
  /** Where uploads wait until they are complete; on the file system of the storage root. */
  spoolFolder: string
  publicUrl: string
  limits: StorageLimits
}

type StorageLimits = {
  maxFileBytes: number
  acceptedTypes: FileType[]
  /** How long an object may have no file before it is taken for a leftover. */
  orphanAgeSeconds: number
}

const THUMBNAIL_SUFFIX = '.thumbnail.jpg'

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

/** Where the bytes of a file are. */
export type Placed = Pick<StoredFile, 'location' | 'objectName'>

/**
 * Every object gets a name that was never used before. Whoever is late in removing one, after a
 * pause or a lost lease, can therefore only ever remove what nobody needs.
 * Names of one time are neighbours (RFC 9562, version 7): so are their entries in an index, and one
 * commit of many uploads writes half as many pages.
 */
export function newObjectName(extension: string): string {
  return `${randomUUIDv7()}.${extension}`
}

export type NewFile = Omit<StoredFile, 'id' | 'state' | 'thumbnail'>

/** The key of the file's bytes at its location. */
export function objectKey({ location, objectName }: Placed): string {
  return `${location.prefix}/${objectName}`
}

/** The thumbnail lies beside the object, under a name that shows whose it is. */
export function thumbnailKey(file: Placed): string {
  return `${objectKey(file)}${THUMBNAIL_SUFFIX}`
}

/** The object that a key stands for, itself or as its thumbnail. */
export function objectNameOf(key: string): string {
  const name = key.slice(key.lastIndexOf('/') + 1)
  return name.endsWith(THUMBNAIL_SUFFIX) ? name.slice(0, -THUMBNAIL_SUFFIX.length) : name
}
