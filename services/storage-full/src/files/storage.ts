import { randomBytes, randomUUIDv7 } from 'node:crypto'
import type { FileType } from '@plinth/kit/files'
import type { FileState, ThumbnailState } from '../database/tables.ts'
import type { LocationContext } from '../locations/locations.ts'
import type { Location } from '../locations/providers/provider.ts'
import type { Scanning } from '../scanning/scanning.ts'
import type { Quota } from './usage/usage.repository.ts'

/** What the rules of this service need. */
export type Storage = LocationContext & {
  /** Runs the writes of a deletion, which must succeed even on a full disk. */
  withReserve<R>(work: () => Promise<R>): Promise<R>
  /** Where uploads wait until they are complete; on the same file system as the storage root. */
  spoolFolder: string
  publicUrl: string
  /** What other rooms keep beside objects. */
  beside: KeptBeside
  /** What content must pass before it becomes a file. */
  scanning: Scanning
  /** For service keys and users of the trusted issuer; false for users of any other issuer. */
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
    /** How long a deletion requested with `restorable` can be undone. */
    restorableSeconds: number
    /** The most bytes that one owner may have in the trash, if no quota says it. */
    trashBytes: number | undefined
    /** How many earlier versions of each file are kept. */
    versions: number
  }
}

/** For what reads a limit more than once: administrators may change it between two readings. */
export function withLimitsOfNow(storage: Storage): Storage {
  return { ...storage, limits: { ...storage.limits } }
}

/** A file as the rules see it: its metadata, and where its bytes are. */
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
  /** As in ZIP archives; null for a file of an earlier version until it is first read for one. */
  crc32: number | null
  state: FileState
  thumbnail: ThumbnailState
  createdAt: string
  version: number
  /** When its content was last replaced; null for the first version. */
  replacedAt: string | null
  location: Location
  objectName: string
  /** Null: in `/`. */
  folderId: number | null
  /** The path of the folder. */
  folder: string
  /** The path from which a deleted file came, once that folder is gone. */
  formerFolder: string | null
  tags: string[]
  metadata: Record<string, string>
  updatedAt: string
}

export type NewFile = Omit<
  StoredFile,
  | ('id' | 'state' | 'thumbnail' | 'version' | 'replacedAt')
  | ('formerFolder' | 'tags' | 'metadata' | 'updatedAt')
> & {
  /** What it is sorted and found by. */
  foldedName: string
  words: string
}

/** What a version of a file consists of; everything else belongs to the file. */
export type Content = Pick<
  StoredFile,
  'location' | 'objectName' | 'sizeBytes' | 'checksumSha256' | 'crc32'
>

/** Where the bytes of a file are. */
export type ObjectAddress = Pick<StoredFile, 'location' | 'objectName'>

/** Objects that can be made again, beside those they were made of. They are in no quota, backup or move. */
export type KeptBeside = {
  /** Removes what is kept beside an object that goes, and forgets it. */
  remove(object: ObjectAddress): Promise<void>
  /** Those of these names of such objects that are recorded. */
  findRecorded(names: string[]): Promise<Set<string>>
}

/** While a lease whose name starts with this is held, a backup is reading and no object may be removed. */
export const HELD_FOR_BACKUP = 'backup-of-files:'
export const HOLD_SECONDS = 30

/** Accounts of this service have numeric ids; users of the trusted issuer and service keys do not. */
export function isForeign(ownerId: string): boolean {
  return !/^\d+$/.test(ownerId)
}

/** The id of an owner as clients see it. */
export function shownOwnerId(ownerId: string): number | string {
  return isForeign(ownerId) ? ownerId : Number(ownerId)
}

const THUMBNAIL_SUFFIX = '.thumbnail.jpg'

/**
 * Object names are never reused, so a process that removes an object late, after a pause or a lost
 * lease, never removes one in use.
 * UUID version 7 (RFC 9562) puts names of about the same time next to each other in the index, so that
 * a commit of many uploads writes half as many pages.
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

const RENDITION = /\.picture-[\w-]+\.\w+$/

/** The key of an object beside another; its name starts with that of the other. */
export function besideKey({ prefix }: Location, name: string): string {
  return `${prefix}/${name}`
}

/** A name for a rendition of the picture in an object; like that of the object it is never used twice. */
export function newRenditionName(objectName: string, extension: string): string {
  return `${objectName}.picture-${randomBytes(9).toString('base64url')}.${extension}`
}

/** The name of an object that is kept beside another; undefined for other keys. */
export function besideNameOf(key: string): string | undefined {
  return RENDITION.test(key) ? nameOf(key) : undefined
}

/** The name of the object that a key belongs to; the key may be that of its thumbnail or a rendition. */
export function objectNameOf(key: string): string {
  const name = nameOf(key).replace(RENDITION, '')
  return name.endsWith(THUMBNAIL_SUFFIX) ? name.slice(0, -THUMBNAIL_SUFFIX.length) : name
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1)
}
