import { watch } from 'node:fs'
import { lstat, opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { groupRuns } from '@plinth/kit'
import { createSortedNames, type SortedNames } from './sorted-names.ts'

/** The names of the regular files in a folder, as a sorted JSON array. */
export type Listing = {
  body(): Promise<Buffer>
  /** Something about this name may have changed; it is looked at before the next answer. */
  touch(name: string): void
  close(): void
}

const ENTRIES_AT_ONCE = 1024
/** With more changes than this, reading everything is cheaper than looking at each. */
const MANY_CHANGES = 500
const VERIFY_AFTER_MS = 30_000

/**
 * Reading a folder of 100,000 names takes a tenth of a second, so the names are kept and only what
 * changed is looked at: our own changes, and those the kernel reports of others. A folder whose
 * times changed without any report (a network file system, a lost event) is read again.
 */
export function createListing(folder: string): Listing {
  let names: SortedNames | undefined
  let seen: FolderState | undefined
  let changed = new Set<string>()
  let verification: NodeJS.Timeout | undefined
  let stopWatching = () => {}
  let closed = false

  const touch = (name: string) => {
    if (changed.size <= MANY_CHANGES) changed.add(name)
  }

  const readAll = async (state: FolderState) => {
    if (state.identity !== seen?.identity && !closed) {
      stopWatching()
      stopWatching = watchFolder(folder, touch)
    }
    changed = new Set()
    seen = await folderState(folder)
    names = createSortedNames(await regularFiles(folder))
    return names
  }

  const applyChanges = async (known: SortedNames, state: FolderState) => {
    const looked = changed
    changed = new Set()
    for (const name of looked) known.set(name, await isRegularFile(join(folder, name)))
    seen = state
    if (looked.size > 0) verification ??= setTimeout(verify, VERIFY_AFTER_MS).unref()
    return known
  }

  /** Reports can get lost when too many come at once, so a list made of them is checked in time. */
  const verify = () => {
    verification = undefined
    names = undefined
    current().catch(() => {})
  }

  const current = groupRuns(async () => {
    const state = await folderState(folder)
    await nextTurn() // By now every report of a change that `state` includes has been delivered.
    const explained = state.times === seen?.times || changed.size > 0
    const sameFolder = state.identity === seen?.identity
    if (names && sameFolder && explained && changed.size <= MANY_CHANGES)
      return (await applyChanges(names, state)).body()
    return (await readAll(state)).body()
  })

  current().catch(() => {}) // So that the first to ask does not wait for it.
  return {
    body: current,
    touch,
    close: () => {
      closed = true
      clearTimeout(verification)
      stopWatching()
    },
  }
}

/** Where changes cannot be watched, the state of the folder alone decides. */
function watchFolder(folder: string, changed: (name: string) => void): () => void {
  try {
    const watcher = watch(folder, { persistent: false }, (event, name) => {
      if (event === 'rename' && name !== null) changed(name)
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    return () => {}
  }
}

type FolderState = { identity: string; times: string }

async function folderState(folder: string): Promise<FolderState> {
  const { dev, ino, mtimeNs, ctimeNs } = await stat(folder, { bigint: true })
  return { identity: `${dev} ${ino}`, times: `${mtimeNs} ${ctimeNs}` }
}

/** In portions, so that other requests are answered in between. */
async function regularFiles(folder: string): Promise<string[]> {
  const found: string[] = []
  for await (const entry of await opendir(folder, { bufferSize: ENTRIES_AT_ONCE }))
    if (entry.isFile()) found.push(entry.name)
  return found
}

async function isRegularFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isFile(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
