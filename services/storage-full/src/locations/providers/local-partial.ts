import { opendir, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AppendFile, syncFolder } from '@plinth/kit/files'
import { storageUnavailable } from '../problems.ts'
import type { Kept, PartialObject, PartialObjects } from './partial.ts'

/** Inside the folder of the objects, so that it is on their disk; names with a dot are not listed as objects. */
const FOLDER = '.unfinished'

type Orderly = <T>(work: Promise<T>) => Promise<T>

/** An object that is not complete is a file that grows; completing it is a rename. */
export function localPartialObjects(folder: string, orUnavailable: Orderly): PartialObjects {
  const finalPath = (key: string) => join(folder, key)
  const growingPath = (key: string) => {
    const path = finalPath(key)
    return join(dirname(path), FOLDER, basename(path))
  }
  return {
    append: (object) => orUnavailable(openFor(object, growingPath(object.key), orUnavailable)),
    complete: (object) =>
      orUnavailable(publishOnce(growingPath(object.key), finalPath(object.key), object)),
    discard: (key) => orUnavailable(unlink(growingPath(key)).catch(ignoreAbsent)),
    async *list(prefix) {
      const growing = await orUnavailable(opendir(join(folder, prefix, FOLDER)).catch(ignoreAbsent))
      if (!growing) return
      for await (const entry of growing) if (entry.isFile()) yield `${prefix}/${entry.name}`
    },
  }
}

async function openFor({ offset }: PartialObject, path: string, orUnavailable: Orderly) {
  const file = await AppendFile.open(path, offset)
  let end = offset
  const keep = async (): Promise<Kept> => {
    const reached = end
    await orUnavailable(file.sync())
    return { offset: reached, multipartId: null, tail: null, parts: [] }
  }
  return {
    write(bytes: Buffer) {
      end += bytes.length
      const writing = file.write(bytes)
      return writing && orUnavailable(writing)
    },
    checkpoint: keep,
    keep,
    tidy: async () => {},
    readStart: (length: number) => orUnavailable(file.read(0, length)),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  }
}

/** A process that was killed may have renamed the file already. Acknowledged bytes stay, even if the sync fails. */
async function publishOnce(from: string, to: string, { sizeBytes }: PartialObject): Promise<void> {
  await rename(from, to).catch(ignoreAbsent)
  const stats = await stat(to).catch(ignoreAbsent)
  if (stats?.size !== sizeBytes)
    throw storageUnavailable({ cause: new Error('The bytes of an upload are gone') })
  await syncFolder(dirname(to))
}

function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
