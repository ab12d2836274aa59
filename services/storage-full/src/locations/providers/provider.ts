import type { Readable } from 'node:stream'
import type { Spool } from '@plinth/kit'
import type { ProviderName } from '../../database/tables.ts'
import type { IsForbidden } from '../endpoints.ts'

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
export type StoreAccess = StoreTimeouts & { isForbidden: IsForbidden }

/** Where files were put: a folder below the root, or a bucket. */
export type Location = {
  id: number
  provider: ProviderName
  prefix: string
  sealedSettings: string
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

/** What the owner of a bucket decides, as it shows from here. */
export type BucketState = {
  /** Of the store, as it says. */
  date: string | undefined
  /** What works without a key. */
  othersMay: ('list' | 'read')[]
  versions: 'none' | 'kept' | 'removed by a rule' | 'not told by the store'
}

/**
 * Keeps bytes under keys such as `3f2a/8c1e….png`. When the disk or the store fails, every method
 * throws STORAGE_UNAVAILABLE; a key that is not there is not a failure.
 */
export type StorageProvider = {
  /**
   * Creates the folder, once, when it is chosen. Nothing else does: one that is gone must not come
   * back empty.
   */
  prepare(): Promise<void>
  /**
   * Resolves when the bytes are durable. Never leaves half an object under the key; replaces what
   * was there. The source may be gone afterwards.
   */
  put(key: string, source: SourceFile): Promise<void>
  /** Destroy the stream to release it early. */
  open(key: string, range?: ByteRange): Promise<Readable | undefined>
  sizeOf(key: string): Promise<number | undefined>
  remove(key: string): Promise<void>
  list(prefix: string): AsyncIterable<string>
  /** Checks quickly whether the folder or the store answers. */
  check(): Promise<void>
  /** Where a disk is in use, writes to it: a full or read-only one can be read for a long time. */
  requireWritable(): Promise<void>
  /** Every step on the way to a stored object, up to the first that fails. */
  probe(): Promise<ProbeStep[]>
  /** Absent where files are in a folder. */
  examine?(): Promise<BucketState>
  close(): void
}

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
