import { nextTurn } from '@plinth/kit/runtime'
import { folderName, parentOf, ROOT } from '../files/folders/paths.ts'
import { fileNotFound, fileOfAnotherUser } from '../files/problems.ts'
import { isForeign, type Storage } from '../files/storage.ts'
import { listLocations } from '../locations/locations.ts'
import { entryNames } from './names.ts'
import { zipTooLarge } from './problems.ts'
import type { FileEntry } from './stream.ts'
import {
  isAdministrator,
  type ListedFile,
  type ListedFolder,
  listFilesById,
  listFilesIn,
  listFolders,
  listFoldersById,
} from './zip.repository.ts'

const ROWS_AT_ONCE = 500
/** In the place of an id: the folder `/`, which has no row. */
export const ROOT_ID = 0

/** What somebody wants in an archive. */
export type Selection = { fileIds: number[]; folderIds: number[] }

/** Somebody who may read their own files and folders or, as an administrator, the files of everybody. */
export type Reader = { userId: string; readsAll: boolean }

/**
 * What the maker of a token may read now. An administrator of the trusted issuer reads only their own files this way: the
 * issuer does not tell here who still is one.
 */
export async function readerNow({ db }: Storage, makerId: string): Promise<Reader> {
  const readsAll = !isForeign(makerId) && (await isAdministrator(db, Number(makerId)))
  return { userId: makerId, readsAll }
}

/** The folders of one selected folder and the files in them; the first folder is the selected one. */
type Branch = { folders: ListedFolder[]; files: ListedFile[] }

/** `files` were selected themselves, and are in none of the branches. */
type Selected = { files: ListedFile[]; branches: Branch[] }

/** The files of a selection, or the reason why the reader cannot have one of them. 404 takes precedence over 403. */
export async function requireSelected(
  storage: Storage,
  reader: Reader,
  selection: Selection,
  maxFiles: number,
): Promise<ListedFile[]> {
  const { files, branches } = await select(storage, reader, selection, maxFiles)
  const all = [...files, ...branches.flatMap((branch) => branch.files)]
  const found = new Set(all.map(({ id }) => id))
  if (selection.fileIds.some((id) => !found.has(id))) throw fileNotFound()
  if (all.some((file) => !mayRead(reader, file))) throw fileOfAnotherUser()
  return all
}

function mayRead({ userId, readsAll }: Reader, { ownerId }: ListedFile): boolean {
  return readsAll || ownerId === userId
}

/** What there is of a selection that the reader may read. */
export async function contentsOf(
  storage: Storage,
  reader: Reader,
  selection: Selection,
  maxFiles: number,
): Promise<FileEntry[]> {
  const { files, branches } = await select(storage, reader, selection, maxFiles)
  const located = await listLocations(storage.db)
  const locations = new Map(located.map((location) => [location.id, location]))
  const nameOf = entryNames()
  const entries: FileEntry[] = []
  const add = async (some: ListedFile[], folderOf: (file: ListedFile) => string) => {
    for (const [index, file] of some.entries()) {
      // Other requests are answered between thousands of rows.
      if (index % ROWS_AT_ONCE === 0) await nextTurn()
      const location = locations.get(file.locationId)
      if (location && mayRead(reader, file))
        entries.push(entryOf({ ...file, location }, nameOf(folderOf(file), file.originalFilename)))
    }
  }
  await add(files, () => '')
  for (const { folders, files: inside } of branches) {
    const prefixes = prefixesOf(folders, nameOf)
    entries.push(...emptyFolders(folders, prefixes, inside))
    await add(inside, ({ folderId }) => prefixes.get(folderId ?? ROOT_ID) ?? '')
  }
  return entries
}

type LocatedFile = ListedFile & Pick<NonNullable<FileEntry['file']>, 'location'>

function entryOf(located: LocatedFile, name: string): FileEntry {
  const { id, objectName, sizeBytes, checksumSha256, location } = located
  return {
    name,
    sizeBytes,
    crc32: located.crc32 ?? undefined,
    modifiedAt: new Date(located.replacedAt ?? located.createdAt),
    file: { id, objectName, sizeBytes, checksumSha256, location },
  }
}

type NameOf = ReturnType<typeof entryNames>

/** The names of the folders in the archive, each with a slash at the end; that of `/` is empty. */
function prefixesOf(folders: ListedFolder[], nameOf: NameOf): Map<number, string> {
  const byPath = new Map<string, string>()
  const prefixes = new Map<number, string>()
  // By path, so that a folder comes after the one that it is in.
  for (const { id, path } of folders) {
    const above = byPath.get(parentOf(path)) ?? ''
    const prefix = path === ROOT ? '' : `${nameOf(above, folderName(path))}/`
    byPath.set(path, prefix)
    prefixes.set(id, prefix)
  }
  return prefixes
}

/** Those in which nothing is; the others show in the names of what they have. */
function emptyFolders(
  folders: ListedFolder[],
  prefixes: Map<number, string>,
  files: ListedFile[],
): FileEntry[] {
  const used = new Set(files.map(({ folderId }) => folderId ?? ROOT_ID))
  const parents = new Set(folders.map(({ path }) => parentOf(path)))
  return folders
    .filter(({ id, path }) => path !== ROOT && !used.has(id) && !parents.has(path))
    .map(({ id, createdAt }) => ({
      name: prefixes.get(id) ?? '',
      sizeBytes: 0,
      crc32: 0,
      modifiedAt: new Date(createdAt),
    }))
}

async function select(
  storage: Storage,
  reader: Reader,
  { fileIds, folderIds }: Selection,
  maxFiles: number,
): Promise<Selected> {
  const count = counter(maxFiles)
  const branches: Branch[] = []
  for (const { path } of await topmost(storage, reader, folderIds)) {
    const subtree = { ownerId: reader.userId, path }
    const folders = await foldersOf(storage, subtree, count)
    branches.push({ folders, files: await filesOf(storage, subtree, folders, count) })
  }
  // A file that is moved meanwhile may have been met in two places.
  const seen = new Set<number>()
  const isNew = ({ id }: ListedFile) => !seen.has(id) && seen.add(id)
  for (const branch of branches) branch.files = branch.files.filter(isNew)
  const alone = fileIds.filter((id) => !seen.has(id))
  count.files(alone.length)
  const files = await inBatches(alone, (ids) => listFilesById(storage.db, ids))
  return { files: files.sort(byId), branches }
}

/** Fails when there are too many, before more of them are read. */
function counter(maxFiles: number) {
  let [files, folders] = [0, 0]
  const check = (count: number) => {
    if (count > maxFiles) throw zipTooLarge({ extra: { maxFiles } })
  }
  return {
    /** One more than there may be. */
    rest: () => maxFiles - files + 1,
    restOfFolders: () => maxFiles - folders + 1,
    files(more: number) {
      files += more
      check(files)
    },
    folders(more: number) {
      folders += more
      check(folders)
    },
  }
}

type Count = ReturnType<typeof counter>

/** Without folders that are in another of them. */
async function topmost({ db }: Storage, { userId }: Reader, ids: number[]) {
  const rows = ids.filter((id) => id !== ROOT_ID)
  const folders = await inBatches(rows, (some) => listFoldersById(db, userId, some))
  if (ids.includes(ROOT_ID)) folders.push(rootFolder())
  const paths = new Set(folders.map(({ path }) => path))
  const isInAnother = (path: string): boolean =>
    path !== ROOT && (paths.has(parentOf(path)) || isInAnother(parentOf(path)))
  return folders
    .filter(({ path }) => !isInAnother(path))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
}

function rootFolder(): ListedFolder {
  return { id: ROOT_ID, path: ROOT, createdAt: new Date(0).toISOString() }
}

type Subtree = { ownerId: string; path: string }

async function foldersOf({ db }: Storage, subtree: Subtree, count: Count): Promise<ListedFolder[]> {
  const isRoot = subtree.path === ROOT
  const { ownerId } = subtree
  const folders = await listFolders(db, isRoot ? { ownerId } : subtree, count.restOfFolders())
  count.folders(folders.length)
  return isRoot ? [rootFolder(), ...folders] : folders
}

async function filesOf(
  { db }: Storage,
  { ownerId }: Subtree,
  folders: ListedFolder[],
  count: Count,
): Promise<ListedFile[]> {
  const files = await inBatches(
    folders.map(({ id }) => (id === ROOT_ID ? null : id)),
    async (folderIds) => {
      const some = await listFilesIn(db, { ownerId, folderIds }, count.rest())
      count.files(some.length)
      return some
    },
  )
  const places = new Map(folders.map(({ id }, index) => [id, index]))
  const placeOf = ({ folderId }: ListedFile) => places.get(folderId ?? ROOT_ID) ?? 0
  return files.sort((one, other) => placeOf(one) - placeOf(other) || byId(one, other))
}

const byId = (one: ListedFile, other: ListedFile) => one.id - other.id

async function inBatches<T, R>(all: T[], read: (some: T[]) => Promise<R[]>): Promise<R[]> {
  const found: R[] = []
  for (let start = 0; start < all.length; start += ROWS_AT_ONCE) {
    if (start > 0) await nextTurn()
    for (const each of await read(all.slice(start, start + ROWS_AT_ONCE))) found.push(each)
  }
  return found
}
