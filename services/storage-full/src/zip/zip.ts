import { ADMIN_ROLE } from '@plinth/accounts'
import type { Caller } from '@plinth/kit/http'
import { DAY_SECONDS, HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import { isOwnerEnabled } from '../files/files.ts'
import { folderName, folderPath, ROOT } from '../files/folders/paths.ts'
import { folderNotFound } from '../files/problems.ts'
import { isForeign, type Storage } from '../files/storage.ts'
import { contentsOf, ROOT_ID, readerNow, requireSelected } from './contents.ts'
import { type Layout, layOut } from './layout.ts'
import type { OpenArchives } from './open-archives.ts'
import { tooManyZips, zipNotFound } from './problems.ts'
import type { FileEntry } from './stream.ts'
import {
  deleteZipToken,
  findZipToken,
  insertZipToken,
  listFoldersByPath,
} from './zip.repository.ts'

export const MAX_ZIP_SECONDS = 7 * DAY_SECONDS
export const DEFAULT_ZIP_SECONDS = HOUR_SECONDS
/** Of one maker: each may name thousands of files. */
const MAX_TOKENS = 1_000
const PATHS_AT_ONCE = 500

/** `maxFiles`: the most that an archive may have. */
export type Zips = { storage: Storage; maxFiles: number; open: OpenArchives }

type ZipRequest = {
  ids: number[]
  folders: string[]
  name: string | undefined
  expiresInSeconds: number
}

/** The reply is the only place the token appears: the database keeps its hash. */
export async function createZip(
  { storage, maxFiles }: Zips,
  caller: Caller,
  { ids, folders, name, expiresInSeconds }: ZipRequest,
) {
  const { userId, roles } = caller
  const reader = { userId, readsAll: roles.includes(ADMIN_ROLE) && !isForeign(userId) }
  const paths = [...new Set(folders.map((folder) => folderPath(folder, 'folders')))]
  const folderIds = await folderIdsOf(storage, userId, paths)
  const selection = { fileIds: [...new Set(ids)], folderIds }
  const files = await requireSelected(storage, reader, selection, maxFiles)
  const token = newOpaqueToken()
  const createdAt = storage.clock()
  const expiresAt = secondsAfter(createdAt, expiresInSeconds).toISOString()
  const made = await insertZipToken(
    storage.db,
    {
      ...selection,
      tokenHash: hashOpaqueToken(token),
      makerId: userId,
      name: archiveName(name, ids.length === 0 ? paths : []),
      createdAt: createdAt.toISOString(),
      expiresAt,
    },
    MAX_TOKENS,
  )
  if (!made) throw tooManyZips()
  const url = `${storage.publicUrl}/file/zip/${token}`
  const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  return { token, url, expiresAt, files: files.length, bytes }
}

async function folderIdsOf({ db }: Storage, ownerId: string, paths: string[]): Promise<number[]> {
  const ids = paths.includes(ROOT) ? [ROOT_ID] : []
  const others = paths.filter((path) => path !== ROOT)
  for (let start = 0; start < others.length; start += PATHS_AT_ONCE) {
    const some = others.slice(start, start + PATHS_AT_ONCE)
    const found = await listFoldersByPath(db, ownerId, some)
    if (found.length < some.length) throw folderNotFound()
    ids.push(...found.map(({ id }) => id))
  }
  return ids
}

/** The name that was asked for, or that of the only folder. */
function archiveName(name: string | undefined, folders: string[]): string {
  const chosen = name ?? (folders.length === 1 ? folderName(folders[0] ?? ROOT) : '')
  return /\.zip$/i.test(chosen) ? chosen : `${chosen || 'files'}.zip`
}

/** What is there at this moment of what the token is for, and its maker may still read. `left`: the client. */
export async function archiveBehind(
  { storage, maxFiles, open }: Zips,
  token: string,
  left: AbortSignal,
): Promise<{ name: string; makerId: string; layout: Layout<FileEntry> }> {
  const found = await findZipToken(storage.db, hashOpaqueToken(token), storage.clock())
  if (!found || !(await isOwnerEnabled(storage, { ownerId: found.makerId }))) throw zipNotFound()
  const { name, makerId } = found
  const reader = await readerNow(storage, makerId)
  const layout = await open.prepare(makerId, left, async () =>
    layOut(await contentsOf(storage, reader, found, maxFiles)),
  )
  return { name, makerId, layout }
}

export async function revokeZip(
  { storage }: Zips,
  { userId }: Caller,
  token: string,
): Promise<void> {
  const revoked = { tokenHash: hashOpaqueToken(token), makerId: userId }
  if (!(await deleteZipToken(storage.db, revoked, storage.clock()))) throw zipNotFound()
}
