import { constants } from 'node:fs'
import { access, mkdir, opendir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import {
  isSmall,
  openRegularFile,
  probeFolder,
  readRange,
  readSmallFile,
  syncFolder,
} from '@plinth/kit/files'
import { isDiskFull, isDiskReadOnly } from '@plinth/kit/problems'
import { giveFolderToOwner } from '@plinth/kit/runtime'
import { diskProblem, isDiskFault, storageUnavailable } from '../problems.ts'
import { localPartialObjects } from './local-partial.ts'
import { localProbe } from './local-probe.ts'
import type { ByteRange, StorageProvider } from './provider.ts'

const OWNER_ONLY = 0o700

type LocalFolder = {
  root: string
  /** Below the root. */
  path: string
  /** The subfolder that all keys of a location start with. */
  prefix?: string | undefined
  spoolFolder: string
}

/**
 * Keeps objects as plain files, one folder per key prefix. That folder is created once: if it is
 * missing later, its disk is not mounted, and nothing is read or written in its place.
 */
export function createLocalProvider(options: LocalFolder): StorageProvider {
  const { root, path, prefix = '', spoolFolder } = options
  const folder = join(root, path)
  const own = join(folder, prefix)
  const pathOf = (key: string) => join(folder, key)
  const provider: StorageProvider = {
    prepare: () => orUnavailable(makeFolders(root, join(path, prefix))),
    put: (key, { content }) => orUnavailable(content.publish(pathOf(key))),
    open: (key, range) => orUnavailable(openFile(pathOf(key), range)),
    read: (key, range) => orUnavailable(readFile(pathOf(key), range)),
    sizeOf: (key) => orUnavailable(unlessAbsent(pathOf(key), fileSize)),
    // A disk with errors is remounted read-only: its files can be read, but not removed.
    requireRemovable: (key) => orUnavailable(changeable(dirname(pathOf(key)))),
    remove: (key) => orUnavailable(unlessAbsent(pathOf(key), unlink)),
    list: (listed) => listFolder(folder, listed),
    partial: localPartialObjects(folder, orUnavailable),
    check: () => orUnavailable(changeable(own)),
    requireWritable: () => writable(own),
    probe: () => localProbe({ folder, own, prefix: options.prefix, spoolFolder }, provider),
    close: () => {},
  }
  return provider
}

function changeable(folder: string): Promise<void> {
  return access(folder, constants.W_OK | constants.X_OK)
}

async function openFile(path: string, range?: ByteRange): Promise<Readable | undefined> {
  const file = await openRegularFile(path)
  if (!file) return requireFolderOf(path)
  const last = Number(file.stats.size) - 1
  const { start, end } = range ?? { start: 0, end: last }
  if (end > last) {
    await file.handle.close()
    throw shortened()
  }
  return readRange(file, start, end)
}

async function readFile(path: string, range?: ByteRange): Promise<Readable | Buffer | undefined> {
  if (range && !isSmall(range.start, range.end)) return openFile(path, range)
  const bytes = await readSmallFile(path, range)
  if (bytes === 'large') return openFile(path, range)
  if (range && bytes && bytes.length <= range.end - range.start) throw shortened()
  return bytes ?? requireFolderOf(path)
}

function shortened() {
  return storageUnavailable({ cause: new Error('The stored file is shorter than its record') })
}

async function fileSize(path: string): Promise<number> {
  return (await stat(path)).size
}

async function unlessAbsent<T>(
  path: string,
  work: (path: string) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return requireFolderOf(path)
  }
}

/** A file counts as absent only if its folder exists: a disk that is not mounted has lost nothing. */
async function requireFolderOf(path: string): Promise<undefined> {
  await access(dirname(path))
}

async function* listFolder(folder: string, prefix: string): AsyncIterable<string> {
  for await (const entry of await orUnavailable(opendir(join(folder, prefix))))
    if (entry.isFile() && !entry.name.startsWith('.')) yield `${prefix}/${entry.name}`
}

async function writable(folder: string): Promise<void> {
  try {
    await probeFolder(folder)
  } catch (error) {
    if (isDiskFault(error) && (isDiskFull(error) || isDiskReadOnly(error))) throw diskProblem(error)
    const detail = 'The storage folder is missing or cannot be written.'
    throw storageUnavailable({ cause: error, detail })
  }
}

/** Creates the folders of a path durably, but not the root: if that is missing, its disk is not mounted. */
async function makeFolders(root: string, path: string): Promise<void> {
  let folder = root
  for (const name of path.split('/')) {
    const parent = folder
    folder = join(parent, name)
    if (await makeFolder(folder)) await syncFolder(parent)
  }
}

async function makeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, OWNER_ONLY)
    giveFolderToOwner(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** The message of a file system error contains the path, so only its code and system call are kept. */
async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!isDiskFault(error)) throw error
    const { code, syscall = 'a write' } = error
    throw diskProblem(error, new Error(`The storage folder answered ${code} to ${syscall}`))
  }
}
