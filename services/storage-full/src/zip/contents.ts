import { fileNotFound, fileOfAnotherUser } from '../files/problems.ts'
import { isForeign, type Storage } from '../files/storage.ts'
import { listLocations } from '../locations/locations.ts'
import type { Location } from '../locations/providers/provider.ts'
import { entryNames } from './names.ts'
import { zipTooLarge } from './problems.ts'
import type { FileEntry } from './stream.ts'
import { isAdministrator, type ListedFile, listFilesById } from './zip.repository.ts'

const ROWS_AT_ONCE = 500

/** What somebody wants in an archive. */
export type Selection = { fileIds: number[] }

/** Somebody who may read their own files or, as an administrator, everybody's. */
export type Reader = { userId: string; readsAll: boolean }

/**
 * What the maker of a token may read now. An administrator of the trusted issuer reads only their own files this way: the
 * issuer does not tell here who still is one.
 */
export async function readerNow({ db }: Storage, makerId: string): Promise<Reader> {
  const readsAll = !isForeign(makerId) && (await isAdministrator(db, Number(makerId)))
  return { userId: makerId, readsAll }
}

/** The files of a selection, or the reason why the reader cannot have one of them. 404 takes precedence over 403. */
export async function requireSelected(
  storage: Storage,
  reader: Reader,
  selection: Selection,
  maxFiles: number,
): Promise<ListedFile[]> {
  const files = await selectedFiles(storage, selection, maxFiles)
  const found = new Set(files.map(({ id }) => id))
  if (selection.fileIds.some((id) => !found.has(id))) throw fileNotFound()
  if (files.some((file) => !mayRead(reader, file))) throw fileOfAnotherUser()
  return files
}

/** What there is of a selection that the reader may read, in the order of an archive. */
export async function contentsOf(
  storage: Storage,
  reader: Reader,
  selection: Selection,
  maxFiles: number,
): Promise<FileEntry[]> {
  const files = await selectedFiles(storage, selection, maxFiles)
  const locations = new Map<number, Location>()
  for (const location of await listLocations(storage.db)) locations.set(location.id, location)
  const nameOf = entryNames()
  return files
    .filter((file) => mayRead(reader, file))
    .flatMap((file) => {
      const location = locations.get(file.locationId)
      return location ? [entryOf(file, location, nameOf('', file.originalFilename))] : []
    })
}

function mayRead({ userId, readsAll }: Reader, { ownerId }: ListedFile): boolean {
  return readsAll || ownerId === userId
}

async function selectedFiles(
  { db }: Storage,
  { fileIds }: Selection,
  maxFiles: number,
): Promise<ListedFile[]> {
  if (fileIds.length > maxFiles) throw zipTooLarge({ extra: { maxFiles } })
  const files: ListedFile[] = []
  for (let start = 0; start < fileIds.length; start += ROWS_AT_ONCE)
    files.push(...(await listFilesById(db, fileIds.slice(start, start + ROWS_AT_ONCE))))
  return files.sort((one, other) => one.id - other.id)
}

function entryOf(file: ListedFile, location: Location, name: string): FileEntry {
  const { id, objectName, sizeBytes, checksumSha256 } = file
  return {
    name,
    sizeBytes,
    crc32: file.crc32 ?? undefined,
    modifiedAt: new Date(file.createdAt),
    file: { id, objectName, sizeBytes, checksumSha256, location },
  }
}
