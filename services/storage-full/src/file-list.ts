import type { Caller, PageRequest } from '@plinth/kit'
import { countFiles, listFiles } from './files.repository.ts'
import { ADMIN_ROLE } from './files.ts'
import type { Storage } from './storage.ts'
import type { StoredFile } from './stored-file.ts'

const ROWS_AT_ONCE = 500

/** One's own files; an administrator sees everybody's. */
function ownerSeenBy(caller: Caller): string | undefined {
  return caller.roles.includes(ADMIN_ROLE) ? undefined : caller.userId
}

/** Every file, newest first, a few hundred at a time so that a long list costs little memory. */
export async function* allFiles({ db }: Storage, caller: Caller): AsyncGenerator<StoredFile[]> {
  const ownerId = ownerSeenBy(caller)
  let beforeId: number | undefined
  while (true) {
    const files = await listFiles(db, { ownerId, beforeId, limit: ROWS_AT_ONCE })
    yield files
    if (files.length < ROWS_AT_ONCE) return
    beforeId = files.at(-1)?.id
  }
}

export async function pageOfFiles({ db }: Storage, caller: Caller, page: PageRequest) {
  const ownerId = ownerSeenBy(caller)
  const files = await listFiles(db, { ownerId, offset: page.offset, limit: page.size })
  return { files, total: await countFiles(db, ownerId) }
}
