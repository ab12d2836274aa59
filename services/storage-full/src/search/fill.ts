import { inTransaction } from '@plinth/kit/database'
import { foldedName, foundBy } from '../files/names.ts'
import type { Storage } from '../files/storage.ts'
import { lockWordless, updateWords } from './fill.repository.ts'

const FILES_AT_ONCE = 200

/** Writes what files are found by for those that an earlier version has stored. */
export async function fillWords({ db }: Storage, signal?: AbortSignal): Promise<void> {
  for (let filled = FILES_AT_ONCE; filled === FILES_AT_ONCE; ) {
    if (signal?.aborted) return
    filled = await inTransaction(db, async (inside) => {
      const files = await lockWordless(inside, FILES_AT_ONCE)
      for (const { id, ownerId, originalFilename: name, tags } of files) {
        const words = foundBy(name, tags === null ? [] : JSON.parse(tags))
        await updateWords(inside, { id, ownerId, foldedName: foldedName(name), words })
      }
      return files.length
    })
  }
}
