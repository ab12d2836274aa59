import { engineOf } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { nextTurn } from '@plinth/kit/runtime'
import { weighFiles } from '../files/files.repository.ts'
import { countWithin, describeFile, ownerSeenBy } from '../files/files.ts'
import { findFolder } from '../files/folders/folders.repository.ts'
import { ROOT } from '../files/folders/paths.ts'
import type { Storage } from '../files/storage.ts'
import { listFound } from '../files/words.repository.ts'
import { cursorAt, placeOf } from './cursor.ts'
import type { Sorted, Sought } from './query.ts'
import {
  hasWordless,
  isFolderInOrder,
  listAmong,
  listByIds,
  listInFolders,
  listOwners,
  type OwnerSearch,
  type Place,
  scanWindow,
  type Where,
  type WhereOfAll,
} from './search.repository.ts'

/** When a term or a folder has no more files than this, they are compared one by one. */
const MAX_CANDIDATES = 2_000
const FEW_CANDIDATES = 50
/** How many terms are tried before the files are read in their order instead. */
const MAX_TRIED = 5
const FIRST_WINDOW = 1_000
const MAX_WINDOW = 8_000
/** On SQLite, where the whole process waits for each part, what takes longer is read in smaller ones. */
const WINDOW_MS = 10
/** How many files one request reads at most for each owner. */
const MAX_READ = 64_000
/** Of tags and metadata in one page. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024

type SearchRequest = {
  sought: Sought
  /** As the caller has given it. */
  ownerId: string | undefined
  size: number
  cursor: string | undefined
}

/**
 * One page of the files that are sought. It may have fewer files than `size` although more follow: a request reads a
 * limited number of files that do not match, and a page has a limited size. Only without `nextCursor` is it the last.
 */
export async function searchFiles(
  { db }: Storage,
  caller: Caller,
  { sought, ownerId: asked, size, cursor }: SearchRequest,
) {
  const ownerId = ownerSeenBy(caller, asked)
  const bound = { sought, ownerId }
  const after = cursor === undefined ? undefined : placeOf(cursor, bound)
  const isComplete = !(await hasWordless(db))
  const wanted = { after, limit: size + 1 }
  const parts =
    ownerId === undefined
      ? await searchOwners(db, sought, wanted)
      : [await searchOwner(db, { ownerId, sought }, wanted)]
  const { places, end } = merged(parts, sought.sort)
  const ids = places.slice(0, size).map(({ id }) => id)
  const read = countWithin(MAX_PAGE_BYTES, await weighFiles(db, ids))
  const last = places.length > read ? places[read - 1] : end
  const files = await listByIds(db, ids.slice(0, read))
  return {
    content: files.map(describeFile),
    nextCursor: last === undefined ? null : cursorAt(last, bound),
    complete: isComplete,
  }
}

/** The next files of an owner that match; `end` is set when there may be more after it. */
type Part = { places: Place[]; end?: Place | undefined }

type Wanted = { after: Place | undefined; limit: number }

/** Together if few of all files have one of the terms; otherwise owner by owner, as the indexes are ordered. */
async function searchOwners(db: Storage['db'], sought: Sought, wanted: Wanted): Promise<Part[]> {
  const where = whereOfAll(sought)
  const candidates = where && (await fewWithTerm(db, undefined, sought))
  if (where && candidates)
    return [{ places: await listAmong(db, { sought, where }, { candidates, ...wanted }) }]
  const parts: Part[] = []
  for (const ownerId of await listOwners(db))
    parts.push(await searchOwner(db, { ownerId, sought }, wanted))
  return parts
}

async function searchOwner(
  db: Storage['db'],
  { ownerId, sought }: Omit<OwnerSearch, 'where'>,
  wanted: Wanted,
): Promise<Part> {
  const where = await whereOf(db, ownerId, sought)
  if (where === undefined) return { places: [] }
  const search = { ownerId, sought, where }
  const candidates = await fewCandidates(db, search)
  if (candidates === undefined) return readInOrder(db, search, wanted)
  return { places: await listAmong(db, search, { candidates, ...wanted }) }
}

/** Undefined when there is no such folder, and so no file in it. */
async function whereOf(
  db: Storage['db'],
  ownerId: string,
  { folder, isRecursive }: Sought,
): Promise<Where | undefined> {
  if (folder === undefined || folder === ROOT) return whereOfAll({ folder, isRecursive })
  if (isRecursive) return { kind: 'subtree', subtree: { ownerId, path: folder } }
  const found = await findFolder(db, ownerId, folder)
  return found && { kind: 'folder', id: found.id }
}

/** Undefined when that depends on the owner. */
function whereOfAll({
  folder,
  isRecursive,
}: Pick<Sought, 'folder' | 'isRecursive'>): WhereOfAll | undefined {
  if (folder === undefined) return { kind: 'everywhere' }
  if (folder !== ROOT) return undefined
  return isRecursive ? { kind: 'everywhere' } : { kind: 'folder', id: null }
}

/** All files with one of the terms, or in the folder, if these are few. */
async function fewCandidates(
  db: Storage['db'],
  search: OwnerSearch,
): Promise<number[] | undefined> {
  const { ownerId, sought, where } = search
  const found = await fewWithTerm(db, ownerId, sought)
  if (found || where.kind === 'everywhere' || isFolderInOrder(search)) return found
  const ids = await listInFolders(db, search, MAX_CANDIDATES + 1)
  return ids.length <= MAX_CANDIDATES ? ids : undefined
}

/** All files with one of the terms, if these are few; without an owner those of all. */
async function fewWithTerm(
  db: Storage['db'],
  ownerId: string | undefined,
  { terms: all }: Sought,
): Promise<number[] | undefined> {
  // A longer word is rarer.
  const terms = all
    .toSorted((one, other) => other.word.length - one.word.length)
    .slice(0, MAX_TRIED)
  // First a short look at each: a rare word saves reading a common one.
  for (const most of [FEW_CANDIDATES, MAX_CANDIDATES])
    for (const term of terms) {
      const ids = await listFound(db, ownerId, term, most + 1)
      if (ids.length <= most) return [...new Set(ids)]
    }
  return undefined
}

async function readInOrder(
  db: Storage['db'],
  search: OwnerSearch,
  { after, limit }: Wanted,
): Promise<Part> {
  const places: Place[] = []
  const isProcessWaiting = engineOf(db) === 'sqlite'
  let [end, read, rows] = [after, 0, FIRST_WINDOW]
  while (read < MAX_READ) {
    // Other requests are answered in between.
    await nextTurn()
    const since = performance.now()
    const window = { after: end, rows, limit: limit - places.length }
    const next = await scanWindow(db, search, window)
    const isSlow = isProcessWaiting && performance.now() - since > WINDOW_MS
    places.push(...next.found)
    if (next.end === undefined) return { places }
    end = next.end
    read += rows
    rows = isSlow ? Math.max(rows / 2, FIRST_WINDOW) : Math.min(rows * 2, MAX_WINDOW)
  }
  return { places, end }
}

/** What lies after the end of one part is left for the next page, because that part may have more before it. */
function merged(parts: Part[], sort: Sorted): Part {
  const [only] = parts
  if (only && parts.length === 1) return only
  const order = (one: Place, other: Place) => compare(one, other) * (sort.descending ? -1 : 1)
  const [end] = parts.flatMap((part) => part.end ?? []).sort(order)
  const places = parts.flatMap((part) => part.places).sort(order)
  return { places: end ? places.filter((place) => order(place, end) <= 0) : places, end }
}

/** As the database compares: text by its bytes. */
function compare(one: Place, other: Place): number {
  const byKey =
    typeof one.key === 'number' && typeof other.key === 'number'
      ? one.key - other.key
      : Buffer.compare(Buffer.from(String(one.key)), Buffer.from(String(other.key)))
  return byKey || one.id - other.id
}
