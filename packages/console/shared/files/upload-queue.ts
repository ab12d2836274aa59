import { signal } from '@preact/signals'
import type { Reply } from '../api/api.ts'
import { isPassing } from '../api/passing.ts'
import { facts, factsRead } from '../shell/facts.ts'
import type { Chosen } from './chosen.ts'
import { checkFile, type FileVerdict } from './file-check.ts'
import { acceptedKinds, declared } from './file-kinds.ts'

export type Upload = {
  id: number
  file: File
  folder?: string
  state: 'waiting' | 'sending' | 'paused' | 'stored' | 'refused' | 'cancelled'
  share: number
  startedAt?: number
  verdict?: FileVerdict
  reply?: Reply
  /** What the browser keeps it under, for the time after a reload. */
  key?: string
  /** Where the service keeps what has arrived. */
  uploadId?: string
  /** Chosen before the page was loaded, at this time. */
  keptAt?: number
}

export type Going = { signal: AbortSignal; onProgress(share: number): void }

/** Keeps what is not stored yet, so that it is still there after a reload. */
export type Keeping = {
  /** The key of the record; undefined if the browser keeps nothing. */
  keep(chosen: Chosen): Promise<string | undefined>
  forget(key: string): Promise<void>
}

type QueueOptions<Stored> = {
  send(upload: Upload, going: Going): Promise<Reply<Stored>>
  onStored(stored: Stored): void
  /** What can be resumed can be paused as well. */
  canPause?(file: File): boolean
  /** Told of an upload that is given up, which the service may have a part of. */
  onCancelled?(upload: Upload): void
  keeping?: Keeping
}

export type UploadQueue = ReturnType<typeof createUploadQueue>

/** A file from before a reload, with what is known of it. */
export type Resumed = Chosen & Pick<Upload, 'key' | 'uploadId' | 'keptAt'>

const AT_ONCE = 3

/** Sends dropped files, three at a time. Files that the server would refuse are sent only on request. */
export function createUploadQueue<Stored>(options: QueueOptions<Stored>) {
  const { send, onStored, onCancelled, keeping, canPause = () => false } = options
  const { uploads, put, change, find, clear } = createUploads()
  const running = new Map<number, AbortController>()
  let timesForgotten = 0

  async function add(files: Iterable<Resumed>): Promise<void> {
    const before = timesForgotten
    await factsRead
    const kinds = acceptedKinds()
    for (const given of files) {
      if (timesForgotten !== before) return
      const file = declared(given.file, kinds)
      const id = put({ ...given, file })
      const verdict = await checkFile(file, kinds, facts.value.uploads?.maxFileBytes)
      const upload = find(id)
      if (!upload) continue
      const isRefused = upload.state === 'waiting' && !verdict.accepted
      change(id, { verdict, ...(isRefused && { state: 'refused' }) })
      if (!isRefused) await keep(id)
      sendNext()
    }
  }

  async function keep(id: number): Promise<void> {
    const upload = find(id)
    if (!upload || upload.key || !keeping) return
    const key = await keeping.keep(upload)
    if (key === undefined) return
    // It may have been cancelled meanwhile.
    if (find(id)?.state === 'waiting') change(id, { key })
    else await keeping.forget(key)
  }

  function forgetRecord(id: number): void {
    const { key } = find(id) ?? {}
    if (key === undefined) return
    change(id, { key: undefined })
    keeping?.forget(key)
  }

  function sendNext(): void {
    const sending = uploads.value.filter(({ state }) => state === 'sending').length
    const next = uploads.value.findLast(({ state, verdict }) => state === 'waiting' && verdict)
    if (next && sending < AT_ONCE) transfer(next)
  }

  async function transfer({ id }: Upload): Promise<void> {
    const abort = new AbortController()
    running.set(id, abort)
    change(id, { state: 'sending', startedAt: performance.now(), reply: undefined })
    sendNext()
    const upload = find(id)
    if (!upload) return
    const onProgress = (share: number) => change(id, { share })
    const reply = await send(upload, { signal: abort.signal, onProgress })
    if (running.get(id) === abort) running.delete(id)
    // Paused or cancelled, which has set the state already.
    if (abort.signal.aborted) return sendNext()
    change(id, { state: reply.ok ? 'stored' : 'refused', share: 1, reply })
    if (reply.ok && find(id)) onStored(reply.body)
    // What was refused only for now is sent again after a reload.
    if (reply.ok || !isPassing(reply)) forgetRecord(id)
    sendNext()
  }

  function stop(id: number, state: 'paused' | 'cancelled'): void {
    change(id, { state })
    running.get(id)?.abort()
  }

  return {
    uploads,
    add,
    canPause,
    /** Remembers where the service keeps what has arrived. */
    noteUpload: (id: number, uploadId: string | undefined) => change(id, { uploadId }),
    retry: async ({ id }: Upload) => {
      change(id, { state: 'waiting', share: 0, reply: undefined })
      await keep(id)
      sendNext()
    },
    resume: transfer,
    pause: (id: number) => stop(id, 'paused'),
    cancel: (id: number) => {
      const upload = find(id)
      stop(id, 'cancelled')
      forgetRecord(id)
      if (upload?.uploadId) onCancelled?.(upload)
      change(id, { uploadId: undefined })
    },
    /** Stops everything: what one user has chosen must not be sent, or shown, as another. */
    forget: () => {
      timesForgotten += 1
      uploads.value = []
      for (const abort of running.values()) abort.abort()
      running.clear()
    },
    /** Removes what is done, and what was refused, from the list and from what is kept. */
    clear: () => {
      for (const { id } of uploads.value.filter(isOver)) forgetRecord(id)
      clear()
    },
  }
}

const isOver = ({ state }: Upload) => !['sending', 'waiting', 'paused'].includes(state)

function createUploads() {
  const uploads = signal<Upload[]>([])
  let lastId = 0
  return {
    uploads,
    put(given: Resumed): number {
      lastId += 1
      uploads.value = [{ ...given, id: lastId, state: 'waiting', share: 0 }, ...uploads.value]
      return lastId
    },
    change(id: number, values: Partial<Upload>): void {
      uploads.value = uploads.value.map((each) => (each.id === id ? { ...each, ...values } : each))
    },
    find: (id: number) => uploads.value.find((each) => each.id === id),
    clear(): void {
      uploads.value = uploads.value.filter((upload) => !isOver(upload))
    },
  }
}
