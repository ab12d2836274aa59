import { Problem } from '@plinth/kit'
import { listFilesAfter } from './files.repository.ts'
import { listLocations } from './locations.repository.ts'
import { checksumOf } from './move-file.ts'
import type { Storage } from './storage.ts'
import { objectKey, type StoredFile } from './stored-file.ts'
import { keysAt, withoutFile } from './sweep.ts'

export type Difference = {
  problem: 'missing' | 'damaged' | 'unreachable' | 'orphan'
  /** A file id, or the key of an object that belongs to no file. */
  subject: string
}

const FILES_AT_ONCE = 200

/** Reads every byte of every file and every key of every location, and tells what differs. */
export async function* verifyFiles(storage: Storage): AsyncGenerator<Difference | 'sound'> {
  for await (const file of everyFile(storage)) {
    const problem = await faultOf(storage, file)
    yield problem === undefined ? 'sound' : { problem, subject: `file ${file.id}` }
  }
  for (const location of await listLocations(storage.db)) {
    try {
      for await (const keys of keysAt(storage, location))
        for (const key of await withoutFile(storage.db, location, keys))
          yield { problem: 'orphan', subject: `${location.provider} ${key}` }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      yield { problem: 'unreachable', subject: `${location.provider} location ${location.id}` }
    }
  }
}

async function* everyFile({ db }: Storage): AsyncGenerator<StoredFile> {
  let afterId = 0
  while (true) {
    const files = await listFilesAfter(db, { afterId, limit: FILES_AT_ONCE })
    for (const file of files) if (file.state === 'stored') yield file
    const last = files.at(-1)
    if (!last) return
    afterId = last.id
  }
}

async function faultOf(
  { providers }: Storage,
  file: StoredFile,
): Promise<Difference['problem'] | undefined> {
  try {
    const bytes = await providers.at(file.location).open(objectKey(file))
    if (!bytes) return 'missing'
    return (await checksumOf(bytes)) === file.checksumSha256 ? undefined : 'damaged'
  } catch {
    return 'unreachable'
  }
}
