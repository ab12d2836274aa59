import { randomUUID } from 'node:crypto'
import { access, constants, lstat, realpath, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import {
  contentDisposition,
  entityTag,
  failPoint,
  fileTypes,
  makeDataFolder,
  mediaTypeOf,
  type OpenFile,
  openRegularFile,
  type Representation,
  readRange,
  receiveUpload,
  removeFile,
  requireFileType,
} from '@plinth/kit'
import type { StorageKeyConfig } from './config.ts'
import { createListing, type Listing } from './listing.ts'
import { fileMissing, notAFile } from './problems.ts'

const ACCEPTED = fileTypes(['png', 'jpg', 'pdf', 'webp'])

/** One flat folder. Uploads under way are in a folder inside it: the same file system, not listed. */
export type FileStore = {
  root: string
  incoming: string
  list: Listing
  limits: { maxFileBytes: number; maxRequestBytes: number }
  whole: boolean
}

/** Makes the folder when it is missing. */
export async function openFileStore(config: StorageKeyConfig): Promise<FileStore> {
  makeDataFolder(config.root, 'SUITE_DATA or STORAGE_KEY_ROOT')
  const root = await realpath(config.root)
  const { maxFileBytes, maxRequestBytes } = config
  return {
    root,
    incoming: join(root, '.incoming'),
    list: createListing(root),
    limits: { maxFileBytes, maxRequestBytes },
    whole: config.contentCheck === 'structure',
  }
}

/** Receives, examines and keeps one file; tells the name it is kept under. */
export async function storeFile(
  store: FileStore,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<string> {
  await using upload = await receiveUpload(request, response, {
    folder: store.incoming,
    ...store.limits,
  })
  const { extension } = await requireFileType(upload, { accepted: ACCEPTED, whole: store.whole })
  failPoint('upload:examined')
  const name = `${randomUUID()}${extension}`
  await upload.publish(join(store.root, name))
  return name
}

export async function representFile(store: FileStore, name: string): Promise<Representation> {
  const file = await requireFile(store, name)
  return {
    sizeBytes: Number(file.stats.size),
    etag: entityTag(file.stats),
    lastModified: file.stats.mtime,
    mediaType: mediaTypeOf(name, ACCEPTED),
    disposition: contentDisposition('attachment', name),
    open: (start, end) => readRange(file, start, end),
    close: () => file.handle.close(),
  }
}

export async function describeFile(store: FileStore, name: string) {
  const { handle, stats } = await requireFile(store, name)
  await handle.close()
  return {
    name,
    sizeKB: Number(stats.size / 1024n),
    mimeType: mediaTypeOf(name, ACCEPTED),
    lastModified: stats.mtime.toISOString(),
  }
}

/** Whether there was such a file. A link is never followed and never removed. */
export async function deleteFile(store: FileStore, name: string): Promise<boolean> {
  const path = join(store.root, name)
  const stats = await lstat(path).catch(absent)
  if (stats && !stats.isFile()) throw notAFile()
  const removed = stats !== undefined && (await removeFile(path))
  if (!removed) await requireRoot(store)
  return removed
}

/** Whether files can be kept at all. */
export async function isHealthy({ root }: FileStore): Promise<boolean> {
  await access(root, constants.R_OK | constants.W_OK | constants.X_OK)
  return (await stat(root)).isDirectory()
}

async function requireFile(store: FileStore, name: string): Promise<OpenFile> {
  const file = await openRegularFile(join(store.root, name))
  if (file) return file
  await requireRoot(store)
  throw fileMissing()
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}

/** Without its folder a file is not missing: the storage is. */
async function requireRoot({ root }: FileStore): Promise<void> {
  const stats = await stat(root)
  if (!stats.isDirectory()) throw new Error('The storage folder is not a folder.')
}
