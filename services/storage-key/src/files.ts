import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, constants, lstat, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  contentDisposition,
  entityTag,
  fileTypes,
  isSmall,
  type OpenFile,
  openRegularFile,
  probeFolder,
  type Representation,
  readRange,
  readSmallRange,
  removeFile,
  requireFileType,
  sweepOldSpools,
  sweepSpools,
  type Upload,
  type UploadLimits,
} from '@plinth/kit/files'
import type { Logger } from '@plinth/kit/logging'
import {
  isDiskFull,
  isDiskReadOnly,
  StartError,
  storageFull,
  storageReadOnly,
} from '@plinth/kit/problems'
import { failPoint, HOUR_MS, makeDataFolder, RESTORE_MARK } from '@plinth/kit/runtime'
import mime from 'mime'
import type { StorageKeyConfig } from './config.ts'
import { createListing, type Listing } from './listing.ts'
import { fileMissing, folderUnusable, notAFile } from './problems.ts'

export const ACCEPTED = fileTypes(['png', 'jpg', 'pdf', 'webp'])

/** One flat folder. Uploads are received in a subfolder, which is on the same file system and not listed. */
export type FileStore = {
  root: string
  uploads: UploadLimits
  list: Listing
}

/** Creates the folder when it is missing. */
export async function openFileStore(config: StorageKeyConfig): Promise<FileStore> {
  makeDataFolder(join(config.root, '.incoming'), 'SUITE_DATA or STORAGE_KEY_ROOT')
  const root = await realpath(config.root)
  if (existsSync(join(root, `.${RESTORE_MARK}`)))
    throw new StartError(
      `A restore into ${root} has not ended: it is not whole. Wait for it, or run it again.`,
    )
  const { maxFileBytes, maxRequestBytes } = config
  return {
    root,
    uploads: { folder: join(root, '.incoming'), maxFileBytes, maxRequestBytes },
    list: createListing(root),
  }
}

/**
 * Removes what interrupted uploads left behind: files of this host now, and files of other hosts
 * or of versions that did not record a host once they are a day old.
 */
export async function startSweeping(
  { uploads }: Pick<FileStore, 'uploads'>,
  log: Logger,
): Promise<() => void> {
  const sweepOld = () =>
    sweepOldSpools(uploads.folder).catch((error) =>
      log.warn({ err: error }, 'old temporary files could not be removed'),
    )
  await sweepSpools(uploads.folder)
  await sweepOld()
  const timer = setInterval(sweepOld, HOUR_MS).unref()
  return () => clearInterval(timer)
}

/** Checks an upload, stores it under a new name and returns that name. */
export async function storeFile(store: FileStore, upload: Upload): Promise<string> {
  const { extension } = await requireFileType(upload, ACCEPTED)
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
    mediaType: mediaTypeOf(name),
    disposition: contentDisposition('attachment', name),
    open: (start, end) =>
      isSmall(start, end) ? readSmallRange(file, start, end) : readRange(file, start, end),
    close: () => file.handle.close(),
  }
}

export async function describeFile(store: FileStore, name: string) {
  const { handle, stats } = await requireFile(store, name)
  await handle.close()
  return {
    name,
    sizeKB: Number(stats.size / 1024n),
    mimeType: mediaTypeOf(name),
    lastModified: stats.mtime.toISOString(),
  }
}

/** A file placed in the folder by hand may have any extension. */
function mediaTypeOf(name: string): string {
  // Given a name without a dot, the library treats the whole name as an extension.
  return (name.includes('.') && mime.getType(name)) || 'application/octet-stream'
}

/** Returns whether the file existed. A link is neither followed nor removed. */
export async function deleteFile(store: FileStore, name: string): Promise<boolean> {
  const path = join(store.root, name)
  const stats = await lstat(path).catch(absent)
  if (stats && !stats.isFile()) throw notAFile()
  const removed = stats !== undefined && (await removeFile(path))
  if (!removed) await requireRoot(store)
  return removed
}

/** Checks that the folder can be used, by writing to it. */
export async function isHealthy({ root, uploads }: FileStore): Promise<boolean> {
  try {
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK)
    await probeFolder(uploads.folder)
    return true
  } catch (error) {
    if (isDiskFull(error)) throw storageFull({ cause: error })
    throw (isDiskReadOnly(error) ? storageReadOnly : folderUnusable)({ cause: error })
  }
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

/** A missing folder does not mean that its files were deleted: it is a storage failure, not a 404. */
async function requireRoot({ root }: FileStore): Promise<void> {
  const stats = await stat(root)
  if (!stats.isDirectory()) throw new Error('The storage folder is not a folder.')
}
