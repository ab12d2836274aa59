import type { Origin } from '@plinth/accounts'
import { inTransaction } from '@plinth/kit/database'
import { FILE_TYPES, fileTypeMismatch, requireExtension } from '@plinth/kit/files'
import type { Caller } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { failPoint } from '@plinth/kit/runtime'
import type { StorageDb } from '../../database/tables.ts'
import { insertFileEvent } from '../events.ts'
import { findFile } from '../files.repository.ts'
import { requireFile } from '../files.ts'
import { intoFolder } from '../folders/placing.ts'
import { foldedName, foundBy, tagKey } from '../names.ts'
import { recordForOtherOwner } from '../other-owners.ts'
import { fileNotFound } from '../problems.ts'
import type { Storage, StoredFile } from '../storage.ts'
import { type Described, lockStored, updateFile } from './changes.repository.ts'

/** What is absent stays as it is. */
export type Change = {
  originalFilename?: string | undefined
  /** A path. */
  folder?: string | undefined
  tags?: string[] | undefined
  metadata?: Record<string, string> | undefined
}

type ChangeRequest = { id: number; origin: Origin; change: Change }

/** Changes what is known about a file. Its bytes, and so its ETag, and its links stay. */
export async function changeFile(
  storage: Storage,
  caller: Caller,
  { id, origin, change }: ChangeRequest,
): Promise<StoredFile> {
  const file = await requireFile(storage, caller, id)
  const extension = acceptedExtension(file, change)
  refuseUnstorable(change)
  if (Object.values(change).every((value) => value === undefined)) return file
  const write = (db: StorageDb, folderId?: number | null) =>
    inTransaction(db, async (inside) => {
      const now = storage.clock()
      const described = await lockStored(inside, id)
      if (!described) throw fileNotFound()
      await updateFile(inside, described, {
        ...columnsOf(described, change),
        ...(extension !== undefined && { extension }),
        ...(folderId !== undefined && { folder_id: folderId }),
        updated_at: now.toISOString(),
      })
      const changed = await findFile(inside, id)
      if (!changed) throw fileNotFound()
      const done = { event: 'FILE_CHANGED', caller, origin } as const
      await recordForOtherOwner({ ...storage, db: inside }, done, changed)
      await insertFileEvent(inside, 'file.updated', changed, now)
      return changed
    })
  const { folder } = change
  const changed = await (folder === undefined
    ? write(storage.db)
    : intoFolder(storage, { ownerId: file.ownerId, folder }, write))
  failPoint('change:row')
  return changed
}

/** Without its dot; undefined when the name does not change. */
function acceptedExtension(file: StoredFile, { originalFilename }: Change): string | undefined {
  if (originalFilename === undefined) return undefined
  if (!originalFilename.isWellFormed() || /[\p{Cc}/\\]/u.test(originalFilename))
    throw validationFailed(['originalFilename: must not contain /, \\ or control characters'])
  const { type, extension } = requireExtension(originalFilename, FILE_TYPES)
  const own = FILE_TYPES.find(({ mediaType }) => mediaType === file.contentType)
  if (type === own) return extension.slice(1)
  const extensions = own?.extensions.join(' or ')
  throw fileTypeMismatch({
    detail: `The file is ${file.contentType}, so its name must end in ${extensions}; ${extension} is for ${type.mediaType}.`,
    extra: { claims: { extension: type.name, declaredType: own?.name ?? null, content: null } },
  })
}

function refuseUnstorable({ tags = [], metadata = {} }: Change): void {
  if (new Set(tags.map(tagKey)).size < tags.length)
    throw validationFailed(['tags: must differ from each other, not only in case'])
  if (tags.some((tag) => !tag.isWellFormed() || /\p{Cc}/u.test(tag)))
    throw validationFailed(['tags: must not contain control characters'])
  if (Object.values(metadata).some((value) => !value.isWellFormed() || value.includes('\0')))
    throw validationFailed(['metadata: values must be valid Unicode without NUL'])
}

function columnsOf(described: Described, { originalFilename, tags, metadata }: Change) {
  const name = originalFilename ?? described.originalFilename
  const all = tags ?? (described.tags === null ? [] : JSON.parse(described.tags))
  return {
    ...(originalFilename !== undefined && { original_filename: name }),
    ...(tags !== undefined && { tags: JSON.stringify(tags) }),
    ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
    folded_name: foldedName(name),
    words: foundBy(name, all),
  }
}
