import type { Page, RestorableFile, StoredFile, Usage } from '@plinth/client'
import { computed, signal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { createUploadQueue } from '../../shared/files/upload-queue.ts'
import { session } from '../session.ts'

const PAGE_SIZE = 48

/** The caller's files that have been loaded, newest first. */
export const files = signal<StoredFile[] | undefined>(undefined)
export const totalFiles = signal(0)
/** How much the caller has stored, and may store. */
export const usage = signal<Usage | undefined>(undefined)
/** Deleted files that can be restored, here or in another tab. */
export const restorable = signal<RestorableFile[]>([])
/** How many there are; the list has the last hundred. */
export const totalRestorable = signal(0)
export const listRefusal = signal<Reply | undefined>(undefined)
export const layout = signal<'grid' | 'list'>('grid')

/** Whose files these are: the next user must not see them. */
export const who = computed(() => session.claims.value?.sub)
let restorableAsked = 0
who.subscribe(() => {
  restorableAsked += 1
  files.value = undefined
  totalFiles.value = 0
  usage.value = undefined
  restorable.value = []
})

/** Loads the first `pages` pages in sequence, because each starts where the list ends. */
export async function listFiles(pages: number): Promise<void> {
  files.value = undefined
  await Promise.all([listPages(pages), readUsage(), listRestorable()])
}

async function listPages(pages: number): Promise<void> {
  for (let page = 0; page < pages; page += 1) await listMoreFiles()
}

async function readUsage(): Promise<void> {
  const asker = who.value
  const reply = await session.api.get<Usage>('/file/usage', { silent: true })
  if (asker !== who.value) return
  usage.value = reply.ok ? reply.body : undefined
}

export async function listRestorable(): Promise<void> {
  restorableAsked += 1
  const asked = restorableAsked
  const reply = await session.api.get<Page<RestorableFile>>('/file/deleted?size=100', {
    silent: true,
  })
  if (asked !== restorableAsked) return
  restorable.value = reply.ok ? reply.body.content : []
  totalRestorable.value = reply.ok ? reply.body.totalElements : 0
}

export async function listMoreFiles(): Promise<void> {
  const asker = who.value
  const page = Math.floor((files.value ?? []).length / PAGE_SIZE)
  const reply = await session.api.get<StoredFile[]>(`/file/list?page=${page}&size=${PAGE_SIZE}`)
  if (asker !== who.value) return
  listRefusal.value = reply.ok ? undefined : reply
  if (!reply.ok) return
  // An upload may have finished while the list was loading.
  const held = files.value ?? []
  const ids = new Set(held.map(({ id }) => id))
  files.value = [...held, ...reply.body.filter(({ id }) => !ids.has(id))]
  totalFiles.value = Math.max(Number(reply.headers['x-total-count'] ?? 0), files.value.length)
}

export const queue = createUploadQueue({
  send: session.api.send<StoredFile>,
  onStored: addFile,
})
who.subscribe(queue.forget)

/** Keeps the newest first. */
export function addFile(file: StoredFile): void {
  files.value = [file, ...(files.value ?? [])].sort((one, other) => other.id - one.id)
  totalFiles.value += 1
  readUsage()
}

export function forgetFile(id: number): void {
  forgetFiles([id])
}

export function forgetFiles(ids: number[]): void {
  files.value = files.value?.filter(({ id }) => !ids.includes(id))
  totalFiles.value -= ids.length
  if (files.value?.length === 0 && totalFiles.value > 0) listMoreFiles()
  readUsage()
  listRestorable()
}
