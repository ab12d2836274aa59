import { inTransaction, isForeignKeyViolation } from '@plinth/kit/database'
import { type Caller, Type, timestamp } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { failPoint } from '@plinth/kit/runtime'
import { trashTogether } from '../deletions/deletions.ts'
import { insertFolderEvent } from '../events.ts'
import { folderExists, folderNotEmpty, folderNotFound, overFolders } from '../problems.ts'
import type { Storage } from '../storage.ts'
import {
  countFilesWithin,
  createdFolder,
  deleteFolders,
  detachDeleted,
  ensureFolder,
  type Folder,
  findFolder,
  hasChildren,
  listChildren,
  listFileIds,
  lockFolders,
  longestWithin,
  type Subtree,
  updatePaths,
} from './folders.repository.ts'
import {
  folderName,
  isWithin,
  lengthOf,
  limitFault,
  parentOf,
  ROOT,
  withAncestors,
} from './paths.ts'

const FOLDERS_AT_ONCE = 500
const FILES_AT_ONCE = 500
/** How often a recursive deletion begins again because files keep arriving. */
const MAX_ROUNDS = 10

export const FolderReply = Type.Object(
  {
    path: Type.String({ examples: ['/holidays/2026'] }),
    name: Type.String({ description: 'The last part of the path', examples: ['2026'] }),
    createdAt: timestamp(),
  },
  { title: 'Folder' },
)

type FolderView = { path: string; name: string; createdAt: string }

function describeFolder({ path, createdAt }: Omit<Folder, 'id'>): FolderView {
  return { path, name: folderName(path), createdAt }
}

/** It was there before any other, and has no row. */
const ROOT_FOLDER = { path: ROOT, createdAt: new Date(0).toISOString() }

/** Creates a folder of the caller, and those above it. */
export async function createFolder(
  { db, clock }: Storage,
  { userId: ownerId }: Caller,
  path: string,
): Promise<{ folder: FolderView; isNew: boolean }> {
  if (path === ROOT) return { folder: describeFolder(ROOT_FOLDER), isNew: false }
  const { folder, isNew } = await inTransaction(db, async (inside) => {
    await lockFolders(inside, ownerId)
    return ensureFolder(inside, {
      ownerId,
      paths: withAncestors(path),
      now: clock(),
      tooMany: overFolders,
    })
  })
  return { folder: describeFolder(folder), isNew }
}

/** What is directly below a folder of the caller, by name, some hundred at a time. */
export async function foldersBelow(
  { db }: Storage,
  { userId: ownerId }: Caller,
  path: string,
): Promise<AsyncGenerator<FolderView[]>> {
  const parentId = path === ROOT ? null : (await requireFolder(db, { ownerId, path })).id
  return batches()

  async function* batches() {
    for (let after = ''; ; ) {
      const limit = FOLDERS_AT_ONCE
      const folders = await listChildren(db, { ownerId, parentId }, { after, limit })
      yield folders.map(describeFolder)
      if (folders.length < limit) return
      after = folders.at(-1)?.path ?? after
    }
  }
}

async function requireFolder(db: Storage['db'], { ownerId, path }: Subtree): Promise<Folder> {
  const folder = await findFolder(db, ownerId, path)
  if (!folder) throw folderNotFound()
  return folder
}

/** Gives a folder of the caller another path, with all that is in it, or changes nothing. */
export async function moveFolder(
  { db, clock }: Storage,
  { userId: ownerId }: Caller,
  { from, to }: { from: string; to: string },
): Promise<{ path: string; files: number }> {
  if (from === ROOT || to === ROOT) throw validationFailed(['/ cannot be moved or replaced'])
  if (isWithin(to, from)) throw validationFailed(['to: must not be in the folder itself'])
  const moved = await inTransaction(db, async (inside) => {
    await lockFolders(inside, ownerId)
    const now = clock()
    const subtree = { ownerId, path: from }
    const folder = await requireFolder(inside, subtree)
    if (await findFolder(inside, ownerId, to)) throw folderExists()
    refuseTooLong(await longestWithin(inside, subtree), { from, to })
    const parent = { ownerId, paths: withAncestors(parentOf(to)), now, tooMany: overFolders }
    const parentId = await createdFolder(inside, parent)
    await updatePaths(inside, subtree, { to, parentId })
    const files = await countFilesWithin(inside, { ownerId, path: to })
    await insertFolderEvent(inside, 'folder.moved', { id: folder.id, ownerId, files }, now)
    return { path: to, files }
  })
  failPoint('folder:moved')
  return moved
}

/** What is below the folder moves along, so that its paths become longer as well. */
function refuseTooLong(
  longest: { bytes: number; levels: number },
  { from, to }: { from: string; to: string },
): void {
  const [old, next] = [lengthOf(from), lengthOf(to)]
  const fault = limitFault({
    bytes: longest.bytes - old.bytes + next.bytes,
    levels: longest.levels - old.levels + next.levels,
  })
  if (fault) throw validationFailed([`to: every path below it ${fault}`])
}

/** Only an empty folder. Deleted files that came from it keep its path. */
export async function deleteFolder(
  { db, withReserve }: Storage,
  { userId: ownerId }: Caller,
  path: string,
): Promise<void> {
  refuseRoot(path)
  const subtree = { ownerId, path }
  const deleting = withReserve(() =>
    inTransaction(db, async (inside) => {
      await lockFolders(inside, ownerId)
      await requireFolder(inside, subtree)
      if (await hasChildren(inside, subtree)) throw folderNotEmpty()
      await detachDeleted(inside, subtree)
      await deleteFolders(inside, subtree)
    }),
  )
  await deleting.catch((error) => {
    // A file is still in it.
    throw isForeignKeyViolation(error) ? folderNotEmpty({ cause: error }) : error
  })
}

function refuseRoot(path: string): void {
  if (path === ROOT) throw validationFailed(['path: / cannot be deleted'])
}

/**
 * The files go to the trash first, some hundred at a time, then the folders at once. A crash in between leaves the
 * folders with the files that are left. A file that arrives meanwhile goes to the trash as well.
 */
export async function deleteWithFiles(
  storage: Storage,
  caller: Caller,
  path: string,
): Promise<{ files: number }> {
  refuseRoot(path)
  const { db, withReserve } = storage
  const subtree = { ownerId: caller.userId, path }
  await requireFolder(db, subtree)
  let files = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    files += await trashWithin(storage, caller, subtree)
    failPoint('folder:trashed')
    if (await withReserve(() => deleteEmptied(db, subtree))) return { files }
  }
  throw folderNotEmpty()
}

async function trashWithin(storage: Storage, caller: Caller, subtree: Subtree): Promise<number> {
  let files = 0
  for (;;) {
    const ids = await listFileIds(storage.db, subtree, FILES_AT_ONCE)
    if (ids.length === 0) return files
    files += await trashTogether(storage, caller, ids)
  }
}

/** False when a file is in one of the folders again. */
async function deleteEmptied(db: Storage['db'], subtree: Subtree): Promise<boolean> {
  // Most of them before the folders are locked.
  while ((await detachDeleted(db, subtree, FILES_AT_ONCE)) > 0);
  const deleting = inTransaction(db, async (inside) => {
    await lockFolders(inside, subtree.ownerId)
    await detachDeleted(inside, subtree)
    await deleteFolders(inside, subtree)
    return true
  })
  return deleting.catch((error) => {
    if (isForeignKeyViolation(error)) return false
    throw error
  })
}
