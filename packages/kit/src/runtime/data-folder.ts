import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StartError } from '../problems.ts'

const OWNER_ONLY = 0o700

const UNUSABLE = /^(EACCES|EEXIST|ENOENT|ENOSPC|ENOTDIR|EPERM|EROFS|SQLITE_(CANTOPEN|READONLY))/

/** Creates a missing folder that only its owner can access; an existing one keeps its mode. */
export function makeDataFolder(folder: string, setting: string): void {
  inDataFolder(folder, setting, () => {})
}

/** Like `makeDataFolder`, for a folder within the data folder: a new one belongs to the owner of its parent. */
export function makeOwnedFolder(folder: string, setting: string): void {
  if (isFolder(folder)) return
  makeDataFolder(folder, setting)
  giveFolderToOwner(folder)
}

/** Like `makeDataFolder`, then runs `work`. If the folder is unusable, the error names it and its setting. */
export function inDataFolder<T>(folder: string, setting: string, work: () => T): T {
  return namingFolder(folder, setting, () => {
    makeFolders(resolve(folder))
    return work()
  })
}

/** Runs `work` in a folder that is there. If it is unusable, the error names it and its setting. */
export function namingFolder<T>(folder: string, setting: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!UNUSABLE.test(code)) throw error
    const reason = `The folder ${folder} cannot be used: ${message}. Choose another with ${setting}.`
    throw new StartError(reason, { cause: error })
  }
}

/** Level by level: with `recursive`, Node retries for ever where nothing can be created, such as below /proc. */
function makeFolders(folder: string): void {
  if (isFolder(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) makeFolders(parent)
  try {
    mkdirSync(folder, { mode: OWNER_ONLY })
  } catch (error) {
    // Another process that is starting may have created it.
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/**
 * A 32-byte key kept in a file and generated on the first call. Two processes that start together get
 * the same key: a link cannot replace an existing file, so the first one wins and both read its file.
 * `enter` runs before anything is created.
 */
export function generatedKey(file: string, enter: () => void = () => {}): Buffer {
  const unsaved = unsavedKeys.getStore()
  if (unsaved)
    return namingFolder(
      dirname(file),
      'SUITE_DATA',
      () => readKey(file) ?? unsavedKey(file, unsaved),
    )
  enter()
  return inDataFolder(dirname(file), 'SUITE_DATA', () => readKey(file) ?? createKey(file))
}

const unsavedKeys = new AsyncLocalStorage<Map<string, Buffer>>()

/** For reading settings where nothing may be created: keys generated meanwhile are returned, but not saved. */
export async function withoutSavingKeys<T>(
  work: () => Promise<T>,
): Promise<{ result: T; unsaved: Buffer[] }> {
  const keys = new Map<string, Buffer>()
  const result = await unsavedKeys.run(keys, work)
  return { result, unsaved: [...keys.values()] }
}

function unsavedKey(file: string, keys: Map<string, Buffer>): Buffer {
  const key = keys.get(file) ?? randomBytes(32)
  keys.set(file, key)
  return key
}

function createKey(file: string): Buffer {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  const descriptor = openSync(draft, 'wx', 0o600)
  try {
    giveFileToOwner(descriptor, dirname(file))
    writeFileSync(descriptor, `${randomBytes(32).toString('base64')}\n`, { flush: true })
  } finally {
    closeSync(descriptor)
  }
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readKey(file) as Buffer
}

function readKey(file: string): Buffer | undefined {
  try {
    const key = Buffer.from(readFileSync(file, 'utf8'), 'base64')
    if (key.length === 32) return key
    throw new Error(`${file} should hold 32 bytes in base64, and does not`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const ROOT = 0

const isRoot = () => process.getuid?.() === ROOT

/**
 * A command that root runs works in the folders of a service that runs as another user. What it creates there
 * must belong to that user, the owner of the folder: the service could not use it otherwise. The file is given
 * away through its descriptor, because its name may lead elsewhere by now.
 */
export function giveFileToOwner(descriptor: number, folder: string): void {
  if (!isRoot()) return
  const { uid, gid } = statSync(folder)
  if (uid === ROOT) return
  try {
    fchownSync(descriptor, uid, gid)
  } catch {
    // A container or a network drive may not allow it even to root, who can then still use the file itself.
  }
}

/** Gives a folder that root owns, so one that we made, to its parent's owner. A symlink's target is not ours. */
export function giveFolderToOwner(path: string): void {
  if (!isRoot()) return
  const descriptor = openFolder(path)
  if (descriptor === undefined) return
  try {
    if (fstatSync(descriptor).uid === ROOT) giveFileToOwner(descriptor, dirname(path))
  } finally {
    closeSync(descriptor)
  }
}

function openFolder(path: string): number | undefined {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  } catch {
    return undefined
  }
}
