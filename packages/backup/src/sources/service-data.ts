import type { Readable } from 'node:stream'
import type { Migration } from '@plinth/kit'

/** What one service keeps, and what a backup of it needs to know. */
export type ServiceData = {
  name: string
  database?: {
    url: string
    /** The setting that names it: `IDENTITY_DATABASE_URL`. */
    setting: string
    migrations: Migration[]
    /** Tables that `afterRestore` counts anew: engines keep them differently. */
    derived?: string[]
    /** Runs in a database that was just restored, before anything is served from it. */
    afterRestore?(url: string, options: { keepSessions: boolean }): Promise<void>
  }
  /** The keys that its data is sealed with, by setting. They never leave; their fingerprints do. */
  keys: Record<string, Buffer>
  /** The folder that files are restored into. */
  root?: string
  /** Without it the files are those in the root, which has no folders. A restore names another root. */
  files?(mode: FilesMode, root?: string): Promise<StoredFiles>
}

/** `scratch` restores too, and keeps everything below the root of the service, buckets included. */
export type FilesMode = 'backup' | 'restore' | 'scratch'

export type ListedFile = { name: string; size: number }

/** The files of one service, wherever they are. Names are relative, with `/` between their parts. */
export type StoredFiles = {
  /** Everything listed can be opened until `close`, even if it is deleted meanwhile. */
  hold(): Promise<void>
  list(): AsyncIterable<ListedFile>
  /** Nothing for what was removed since it was listed, because no row names it. */
  open(name: string): Promise<Readable | undefined>
  put(file: ListedFile, bytes: Readable): Promise<void>
  /** What is wrong with the files, after reading all of them. */
  check(): AsyncIterable<string>
  close(): Promise<void>
}
