import { everyFile } from './every-file.ts'
import { findFile, listFilesAfter } from './files.repository.ts'
import { checksumOf } from './move-file.ts'
import type { Storage } from './storage.ts'
import { objectKey, type StoredFile } from './stored-file.ts'
import { type Difference, verifyObjects } from './verify-objects.ts'

/** Reads every byte of every file and every key of every location, and tells what differs. */
export async function* verifyFiles(storage: Storage): AsyncGenerator<Difference | 'sound'> {
  for await (const file of everyFile((query) => listFilesAfter(storage.db, query))) {
    if (file.state !== 'stored') continue
    const finding = await findingOf(storage, file)
    if (finding === 'sound') yield finding
    else if (finding !== 'gone') yield { problem: finding, subject: `file ${file.id}` }
  }
  yield* verifyObjects(storage)
}

type Finding = Difference['problem'] | 'sound' | 'gone'

/** The file may have been deleted or moved since its row was read; then the row knows. */
async function findingOf(storage: Storage, file: StoredFile): Promise<Finding> {
  const finding = await compare(storage, file)
  if (finding === 'sound') return finding
  const current = await findFile(storage.db, file.id)
  if (current?.state !== 'stored') return 'gone'
  return current.objectName === file.objectName ? finding : findingOf(storage, current)
}

async function compare({ providers }: Storage, file: StoredFile): Promise<Finding> {
  try {
    const bytes = await providers.at(file.location).open(objectKey(file))
    if (!bytes) return 'missing'
    return (await checksumOf(bytes)) === file.checksumSha256 ? 'sound' : 'damaged'
  } catch {
    return 'unreachable'
  }
}
