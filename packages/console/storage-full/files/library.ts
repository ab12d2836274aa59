import type { StoredFile, Usage } from '@plinth/client'
import { computed, signal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { ownerId, session } from '../session.ts'

const PAGE_SIZE = 48

/** The files that have been loaded of what the page shows. */
export const files = signal<StoredFile[] | undefined>(undefined)
/** Where the next ones begin; undefined when these are all. */
export const nextCursor = signal<string | undefined>(undefined)
/** False for a while after an update, when searches may not find older files yet. */
export const isComplete = signal(true)
/** How much the caller has stored, and may store. */
export const usage = signal<Usage | undefined>(undefined)
export const listRefusal = signal<Reply | undefined>(undefined)
export const layout = signal<'grid' | 'list'>('grid')
/** How often something has changed that other lists show as well. */
export const changes = signal(0)

/** Whose files these are: the next user must not see them. */
export const who = computed(() => session.claims.value && ownerId.value)
let query = ''
let asked = 0
who.subscribe(() => {
  asked += 1
  files.value = undefined
  nextCursor.value = undefined
  usage.value = undefined
})

/** Loads the first `pages` pages in sequence, because each starts where the one before ends. */
export async function listFiles(wanted: string, pages: number): Promise<void> {
  asked += 1
  query = wanted
  files.value = undefined
  nextCursor.value = undefined
  await Promise.all([listPages(pages), readUsage()])
}

async function listPages(pages: number): Promise<void> {
  await listMoreFiles()
  for (let page = 1; page < pages && nextCursor.value !== undefined; page += 1)
    await listMoreFiles()
}

export async function readUsage(): Promise<void> {
  const asker = who.value
  const reply = await session.api.get('/file/usage', { silent: true })
  if (asker !== who.value) return
  usage.value = reply.ok ? reply.body : undefined
}

function find({ size, cursor }: { size: number; cursor?: string }) {
  const page = new URLSearchParams({ size: String(size), ...(cursor && { cursor }) })
  return session.api.get('/file/search', { query: `${page}${query && `&${query}`}` })
}

export async function listMoreFiles(): Promise<void> {
  const question = asked
  const reply = await find({ size: PAGE_SIZE, cursor: nextCursor.value })
  if (question !== asked) return
  listRefusal.value = reply.ok ? undefined : reply
  if (!reply.ok) return
  isComplete.value = reply.body.complete
  nextCursor.value = reply.body.nextCursor ?? undefined
  // An upload may have finished while the list was loading.
  const held = files.value ?? []
  const ids = new Set(held.map(({ id }) => id))
  files.value = [...held, ...reply.body.content.filter(({ id }) => !ids.has(id))]
  // A page may be short, even empty, although more follow.
  if (reply.body.content.length === 0 && nextCursor.value !== undefined) await listMoreFiles()
}

/** Whether a new file belongs to what the page shows; a search is asked again instead. */
function isShown({ folder }: StoredFile): boolean {
  const shown = new URLSearchParams(query)
  const place = shown.get('folder')
  return place === null || folder === place
}

const isPlain = () =>
  [...new URLSearchParams(query).keys()].every((name) => ['folder', 'ownerId'].includes(name))

/** Keeps the newest first. */
export function addFile(file: StoredFile): void {
  changes.value += 1
  readUsage()
  if (!isPlain()) {
    reloadFiles()
    return
  }
  if (!isShown(file)) return
  const others = (files.value ?? []).filter(({ id }) => id !== file.id)
  files.value = [file, ...others].sort((one, other) => other.id - one.id)
}

/** Loads as much as is shown, which stays until it is there. */
export async function reloadFiles(): Promise<void> {
  const question = asked
  const reply = await find({ size: Math.max(PAGE_SIZE, files.value?.length ?? 0) })
  if (question !== asked) return
  listRefusal.value = reply.ok ? undefined : reply
  if (!reply.ok) return
  files.value = reply.body.content
  nextCursor.value = reply.body.nextCursor ?? undefined
  isComplete.value = reply.body.complete
}

export function forgetFile(id: number): void {
  forgetFiles([id])
}

export function forgetFiles(ids: number[]): void {
  changes.value += 1
  files.value = files.value?.filter(({ id }) => !ids.includes(id))
  if (files.value?.length === 0 && nextCursor.value !== undefined) listMoreFiles()
  readUsage()
}
