import type { Readable } from 'node:stream'
import type { Spool } from '@plinth/kit/files'
import type { Sealed } from '@plinth/kit/tokens'
import type { ProviderName } from '../../database/tables.ts'
import type { IsForbidden } from '../endpoints.ts'
import type { PartialObjects } from './partial.ts'

/** The settings of one provider, as they are saved and as a location keeps them. */
export type ProviderSettings =
  | { provider: 'LOCAL'; local: { path: string } }
  | { provider: 'OBJECT'; object: ObjectSettings }

export type ObjectSettings = {
  endpoint: string
  region: string
  bucket: string
  accessKey: string
  secretKey: string
  pathStyleAccess: boolean
}

/** How long the store may stay silent before a call ends. */
export type StoreTimeouts = { connectMs: number; answerMs: number }

/** How a store is reached. */
export type StoreAccess = StoreTimeouts & {
  isForbidden: IsForbidden
  /** Where bytes wait until there are enough of them for a part; the system's folder by default. */
  spoolFolder?: string
}

/** Where files are stored: a folder below the root, or a bucket. */
export type Location = {
  id: number
  provider: ProviderName
  prefix: string
  sealedSettings: Sealed
}

/** First and last byte, both included. */
export type ByteRange = { start: number; end: number }

/** A complete file on its way into a provider. */
export type SourceFile = {
  content: Pick<Spool, 'sizeBytes' | 'read' | 'publish'>
  contentType: string
  checksumSha256: string
}

/** `cause` is for the log. */
export type ProbeStep = { name: string; passed: boolean; message: string; cause?: string }

/** How the owner of a bucket has configured it, as far as it can be observed from here. */
export type BucketState = {
  /** The date in the store's reply. */
  date: string | undefined
  /** What anyone can do without a key. */
  othersMay: ('list' | 'read')[]
  versions: 'none' | 'kept' | 'removed by a rule' | 'not told by the store'
}

/**
 * Keeps bytes under keys such as `3f2a/8c1e….png`. When the disk or the store fails, every method
 * throws STORAGE_UNAVAILABLE; a missing key is not a failure.
 */
export type StorageProvider = {
  /**
   * Creates the folder once, when it is chosen. Nothing else creates it: a folder that has disappeared
   * must not come back empty.
   */
  prepare(): Promise<void>
  /**
   * Resolves when the bytes are durable. Never leaves a partial object under the key; replaces an
   * existing one. The source may be consumed.
   */
  put(key: string, source: SourceFile): Promise<void>
  /** Destroy the stream to release it early. */
  open(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** As `open`, but a few bytes may come at once, which is faster. */
  read(key: string, range?: ByteRange): Promise<Readable | Buffer | undefined>
  sizeOf(key: string): Promise<number | undefined>
  /** Notices, before a deletion begins, that the object could not be removed. A missing one counts as removed. */
  requireRemovable(key: string): Promise<void>
  remove(key: string): Promise<void>
  list(prefix: string): AsyncIterable<string>
  /** Objects that arrive in several requests. */
  partial: PartialObjects
  /** Checks quickly whether the folder or the store answers. */
  check(): Promise<void>
  /** For a folder, writes to its disk: a full or read-only disk may stay readable for a long time. */
  requireWritable(): Promise<void>
  /** Runs every step that storing an object needs, up to the first that fails. */
  probe(): Promise<ProbeStep[]>
  /** Absent for folders. */
  examine?(): Promise<BucketState>
  close(): void
}

export type Providers = {
  /** The provider through which the files of a location are reached. */
  at(location: Location): StorageProvider
  /**
   * A provider for settings that are not in use yet; close it after use. `prefix` is that of the
   * existing location for these settings, if there is one.
   */
  trial(settings: ProviderSettings, prefix?: string): StorageProvider
  seal(settings: ProviderSettings): Sealed
  unseal(provider: ProviderName, sealed: Sealed): ProviderSettings
  close(): void
}
