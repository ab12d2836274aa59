import type { Readable } from 'node:stream'
import type { Migration } from '@plinth/kit/database'

/** What one service keeps, and what a backup of it needs to know. */
export type ServiceData = {
  name: string
  database?: {
    url: string
    /** The setting that names it: `IDENTITY_DATABASE_URL`. */
    setting: string
    migrations: Migration[]
    sealed: SealedIn
    /** Tables that `afterRestore` recalculates: engines store them differently. */
    derived?: string[]
    /** Runs on a restored database before any service uses it. */
    afterRestore?(url: string, options: { keepSessions: boolean }): Promise<void>
  }
  /** The keys that seal its data, by setting. Only their fingerprints go into an archive. */
  keys: Record<string, Buffer>
  /** For a restore: the settings of keys that seal its data and are not given here. */
  missingKeys?: string[]
  /** The folder that files are restored into. */
  root?: string
  /** If absent, the files are those directly in `root`. A restore passes another root. */
  files?(mode: FilesMode, root?: string): Promise<StoredFiles>
}

/** The columns sealed with its keys, by table: `SealedColumns` of its tables. */
export type SealedIn = Record<string, Record<string, true>>

/** `scratch` is a restore that keeps everything below the service's root, even the files of buckets. */
export type FilesMode = 'backup' | 'restore' | 'scratch'

export type ListedFile = { name: string; size: number }

/** The files of one service, wherever they are stored. Names are relative paths with `/`. */
export type StoredFiles = {
  /** Everything listed can be opened until `close`, even if it is deleted meanwhile. */
  hold(): Promise<void>
  list(): AsyncIterable<ListedFile>
  /** Undefined for a file that was removed after it was listed, because no row refers to it. */
  open(name: string): Promise<Readable | undefined>
  put(file: ListedFile, bytes: Readable): Promise<void>
  /** Reads all files and yields what is wrong with them. */
  check(): AsyncIterable<string>
  close(): Promise<void>
}
