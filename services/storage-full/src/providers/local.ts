import { constants } from 'node:fs'
import { access, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { openRegularFile, readRange } from '@plinth/kit'
import { storageUnavailable } from '../problems.ts'
import { localProbe } from './local-probe.ts'
import { putFile } from './local-put.ts'
import type { ByteRange, StorageProvider } from './provider.ts'

/** Keeps objects as plain files, one folder per key prefix, below one folder. */
export function createLocalProvider(folder: string): StorageProvider {
  const pathOf = (key: string) => join(folder, key)
  const provider: StorageProvider = {
    name: 'LOCAL',
    put: (key, source) => orUnavailable(putFile(source.path, pathOf(key))),
    open: (key, range) => orUnavailable(openFile(pathOf(key), range)),
    sizeOf: (key) => orUnavailable(fileSize(pathOf(key))),
    remove: (key) => orUnavailable(rm(pathOf(key), { force: true })),
    list: (prefix) => listFolder(folder, prefix),
    check: () => orUnavailable(access(folder, constants.W_OK | constants.X_OK)),
    probe: () => localProbe(folder, provider),
    close: () => {},
  }
  return provider
}

async function openFile(path: string, range?: ByteRange): Promise<Readable | undefined> {
  const file = await openRegularFile(path)
  if (!file) return undefined
  const { start, end } = range ?? { start: 0, end: Number(file.stats.size) - 1 }
  return readRange(file, start, end)
}

async function fileSize(path: string): Promise<number | undefined> {
  return (await unlessAbsent(stat(path)))?.size
}

async function* listFolder(folder: string, prefix: string): AsyncIterable<string> {
  const entries = await orUnavailable(unlessAbsent(opendir(join(folder, prefix))))
  if (!entries) return
  for await (const entry of entries) if (entry.isFile()) yield `${prefix}/${entry.name}`
}

async function unlessAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The message of a file system error names the path, so only its code is kept. */
async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw storageUnavailable({ cause: new Error(`The storage folder answered ${code}`) })
  }
}
