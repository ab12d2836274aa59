import { baseUrl } from '../../shared/api/base-url.ts'
import type { Keeping, Resumed } from '../../shared/files/upload-queue.ts'

/** A file that is not stored yet, as the browser keeps it. Nothing in it is secret but the file. */
type Kept = {
  key: string
  /** Of which service and user. */
  owner: string
  file: File
  folder: string | undefined
  uploadId: string | undefined
  keptAt: number
}

const DATABASE = 'plinth-uploads'
const STORE = 'uploads'
/** As long as the service keeps an unfinished upload, unless it is set otherwise. */
const KEPT_MS = 86_400_000

const ownerOf = (user: string) => `${baseUrl} ${user}`

/**
 * The queue of one user in the database of the browser. Where that is off or full, uploads work as usual, but a
 * reload ends them.
 */
export function keptUploads(user: () => string | undefined): Keeping {
  return {
    async keep({ file, folder, uploadId }: Resumed) {
      const of = user()
      // Without locks, which need https or localhost, two tabs would send the same file.
      if (of === undefined || !navigator.locks) return undefined
      const [key, owner] = [crypto.randomUUID(), ownerOf(of)]
      await hold(key)
      const kept: Kept = { key, owner, file, folder, uploadId, keptAt: Date.now() }
      if ((await stored((store) => store.put(kept))) !== undefined) return key
      release(key)
      return undefined
    },
    forget: remove,
  }
}

async function remove(key: string): Promise<void> {
  await stored((store) => store.delete(key))
  release(key)
}

const held = new Map<string, () => void>()

/** A record is one tab's until it has sent the file or is gone. False if it is another's. */
function hold(key: string): Promise<boolean> {
  if (held.has(key)) return Promise.resolve(true)
  return new Promise((resolve) => {
    navigator.locks.request(`${DATABASE} ${key}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null)
      return lock && new Promise<void>((end) => held.set(key, end))
    })
  })
}

function release(key: string): void {
  held.get(key)?.()
  held.delete(key)
}

/** Remembers where the service keeps what has arrived of a file. */
export async function noteUploadOf(key: string, uploadId: string | undefined): Promise<void> {
  await stored((store) => {
    const found = store.get(key)
    // In the same transaction: a record that is deleted meanwhile must not come back.
    found.addEventListener('success', () => {
      if (found.result) store.put({ ...found.result, uploadId })
    })
    return found
  })
}

/** What a user has not stored yet, in the order in which it was chosen; removes what is too old, of every user. */
export async function keptOf(user: string): Promise<Resumed[]> {
  const isOld = ({ keptAt }: Kept) => keptAt < Date.now() - KEPT_MS
  for (const { key } of await freeRecords(isOld)) await remove(key)
  const own = await freeRecords((kept) => kept.owner === ownerOf(user) && !isOld(kept))
  return own.sort((one, other) => one.keptAt - other.keptAt)
}

/** When a user leaves, the files leave with them; another tab may still be sending its own. */
export async function forgetUploadsOf(user: string): Promise<void> {
  const own = await freeRecords(({ owner }) => owner === ownerOf(user))
  for (const { key } of own) await remove(key)
}

/** Those that no other tab is sending; from now on they are this tab's. */
async function freeRecords(isWanted: (kept: Kept) => boolean): Promise<Kept[]> {
  if (!navigator.locks) return []
  const wanted = ((await stored<Kept[]>((store) => store.getAll())) ?? []).filter(isWanted)
  const isFree = await Promise.all(wanted.map(({ key }) => hold(key)))
  return wanted.filter((_, index) => isFree[index])
}

/** Undefined when the browser keeps nothing: in some private windows, without room, or by its settings. */
async function stored<Value = IDBValidKey>(
  ask: (store: IDBObjectStore) => IDBRequest,
): Promise<Value | undefined> {
  try {
    const database = await opened()
    try {
      const transaction = database.transaction(STORE, 'readwrite')
      const answer = answerOf<Value>(ask(transaction.objectStore(STORE)))
      await new Promise((resolve, reject) => {
        transaction.oncomplete = resolve
        transaction.onabort = () => reject(transaction.error)
      })
      return await answer
    } finally {
      database.close()
    }
  } catch {
    return undefined
  }
}

function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'key' })
  return answerOf<IDBDatabase>(request)
}

function answerOf<Value>(request: IDBRequest): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
