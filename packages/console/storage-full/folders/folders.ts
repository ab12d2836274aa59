import type { StorageApi, StoredFile } from '@plinth/client'
import { signal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { goTo } from '../../shared/shell/route.ts'
import { forgetFiles, who } from '../files/library.ts'
import { ownerId, session } from '../session.ts'

export const ROOT = '/'

/** The folders directly below each path that has been looked into. */
export const foldersBelow = signal(new Map<string, StorageApi.Folder[]>())
/** The folders whose own folders the tree shows. */
export const openFolders = signal(new Set([ROOT]))

let asked = 0
who.subscribe(() => {
  asked += 1
  foldersBelow.value = new Map()
  openFolders.value = new Set([ROOT])
})

export const hrefOf = (path: string) => `#/?in=${encodeURIComponent(path)}`

type Placed = Pick<StoredFile, 'folder' | 'ownerId'>

/** Folders are the caller's: an administrator does not see those of others. */
export function isOwn(file: Placed): boolean {
  return String(file.ownerId) === ownerId.value
}

/** The page with the list that a file is in. */
export function placeOf(file: Placed): string {
  return file.folder === ROOT || !isOwn(file) ? '#/' : hrefOf(file.folder)
}

export function goToFolder(path: string): void {
  goTo(hrefOf(path).slice(2))
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || ROOT
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function joined(folder: string, below: string): string {
  return `${folder === ROOT ? '' : folder}${below}` || ROOT
}

/** The path and those above it, from the root. */
export function pathsTo(path: string): string[] {
  const parts = path.split('/').filter(Boolean)
  return [ROOT, ...parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`)]
}

/** What is below a path; a folder that is gone has nothing. */
export async function listFolders(path: string, silent = false): Promise<Reply> {
  const question = asked
  const reply = await session.api.get('/file/folders', {
    query: `path=${encodeURIComponent(path)}`,
    silent,
  })
  if (question !== asked) return reply
  const known = new Map(foldersBelow.value)
  if (reply.ok) known.set(path, reply.body.folders)
  else known.delete(path)
  foldersBelow.value = known
  return reply
}

/** Whether a folder, or one above it, is missing where it would be shown. */
export function isNewFolder(path: string): boolean {
  return pathsTo(path)
    .slice(1)
    .some((one) => {
      const known = foldersBelow.value.get(parentOf(one))
      return known !== undefined && !known.some((folder) => folder.path === one)
    })
}

/** Looks again into everything that is shown: folders appear with files, too. */
export async function relistFolders(): Promise<void> {
  const paths = [...foldersBelow.value.keys()]
  await Promise.all(paths.map((path) => listFolders(path, true)))
}

export async function openFolder(path: string): Promise<void> {
  openFolders.value = new Set([...openFolders.value, path])
  if (!foldersBelow.value.has(path)) await listFolders(path)
}

export function closeFolder(path: string): void {
  openFolders.value = new Set([...openFolders.value].filter((open) => open !== path))
}

export async function createFolder(path: string): Promise<Reply<StorageApi.Folder>> {
  const reply = await session.api.post('/file/folders', { json: { path } })
  if (reply.ok) await Promise.all(pathsTo(parentOf(path)).map((above) => listFolders(above, true)))
  return reply
}

export async function moveFolder(from: string, to: string): Promise<Reply<StorageApi.MovedFolder>> {
  const reply = await session.api.post('/file/folders/move', { json: { from, to } })
  if (!reply.ok) return reply
  forgetBelow(from)
  await Promise.all(
    [...pathsTo(parentOf(to)), parentOf(from)].map((path) => listFolders(path, true)),
  )
  return reply
}

export async function deleteFolder(path: string, recursive: boolean): Promise<Reply> {
  const query = `path=${encodeURIComponent(path)}${recursive ? '&recursive=true' : ''}`
  const reply = await session.api.delete('/file/folders', { query })
  if (!reply.ok) return reply
  forgetBelow(path)
  forgetFiles([])
  await listFolders(parentOf(path), true)
  return reply
}

function forgetBelow(path: string): void {
  const isElsewhere = (one: string) => one !== path && !one.startsWith(`${path}/`)
  const known = [...foldersBelow.value].filter(([one]) => isElsewhere(one))
  foldersBelow.value = new Map(known)
  openFolders.value = new Set([...openFolders.value].filter(isElsewhere))
}

/** Every folder that is known so far, as suggestions for a path. */
export function knownFolders(): string[] {
  const below = [...foldersBelow.value.values()].flat().map(({ path }) => path)
  return [ROOT, ...new Set(below)].sort()
}
