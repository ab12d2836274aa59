import { signal } from '@preact/signals'
import type { Call, Reply } from '../api/api.ts'
import { facts, factsRead } from '../shell/facts.ts'
import { checkFile, type FileVerdict } from './file-check.ts'
import { acceptedKinds, declared } from './file-kinds.ts'

export type Upload = {
  id: number
  file: File
  state: 'waiting' | 'sending' | 'stored' | 'refused' | 'cancelled'
  share: number
  startedAt?: number
  verdict?: FileVerdict
  reply?: Reply
}

type QueueOptions<Stored> = {
  send(call: Call): Promise<Reply<Stored>>
  onStored(stored: Stored): void
}

export type UploadQueue = ReturnType<typeof createUploadQueue>

const AT_ONCE = 3

/** Sends dropped files, three at a time. Files that the server would refuse are sent only on request. */
export function createUploadQueue<Stored>({ send, onStored }: QueueOptions<Stored>) {
  const { uploads, put, change, find, clear } = createUploads()
  const aborts = new Map<number, AbortController>()
  let timesForgotten = 0

  async function add(files: Iterable<File>): Promise<void> {
    const before = timesForgotten
    await factsRead
    const kinds = acceptedKinds()
    for (const given of files) {
      if (timesForgotten !== before) return
      const file = declared(given, kinds)
      const id = put(file)
      const verdict = await checkFile(file, kinds, facts.value.uploads?.maxFileBytes)
      const upload = find(id)
      if (!upload) continue
      const isRefused = upload.state === 'waiting' && !verdict.accepted
      change(id, { verdict, ...(isRefused && { state: 'refused' }) })
      sendNext()
    }
  }

  function sendNext(): void {
    const sending = uploads.value.filter(({ state }) => state === 'sending').length
    const next = uploads.value.findLast(({ state, verdict }) => state === 'waiting' && verdict)
    if (next && sending < AT_ONCE) transfer(next)
  }

  async function transfer({ id, file }: Upload): Promise<void> {
    const abort = new AbortController()
    aborts.set(id, abort)
    change(id, { state: 'sending', share: 0, startedAt: performance.now(), reply: undefined })
    sendNext()
    const onProgress = (share: number) => change(id, { share })
    const reply = await send({
      method: 'POST',
      path: '/file',
      file,
      signal: abort.signal,
      onProgress,
    })
    aborts.delete(id)
    if (abort.signal.aborted) change(id, { state: 'cancelled' })
    else change(id, { state: reply.ok ? 'stored' : 'refused', share: 1, reply })
    if (reply.ok && find(id)) onStored(reply.body)
    sendNext()
  }

  return {
    uploads,
    add,
    retry: transfer,
    cancel: (id: number) => {
      aborts.get(id)?.abort()
      if (!aborts.has(id)) change(id, { state: 'cancelled' })
    },
    /** Stops everything: what one user has chosen must not be sent, or shown, as another. */
    forget: () => {
      timesForgotten += 1
      uploads.value = []
      for (const abort of aborts.values()) abort.abort()
    },
    clear,
  }
}

function createUploads() {
  const uploads = signal<Upload[]>([])
  let lastId = 0
  return {
    uploads,
    put(file: File): number {
      lastId += 1
      uploads.value = [{ id: lastId, file, state: 'waiting', share: 0 }, ...uploads.value]
      return lastId
    },
    change(id: number, values: Partial<Upload>): void {
      uploads.value = uploads.value.map((each) => (each.id === id ? { ...each, ...values } : each))
    },
    find: (id: number) => uploads.value.find((each) => each.id === id),
    /** Keeps what is not done yet. */
    clear(): void {
      uploads.value = uploads.value.filter(
        ({ state }) => state === 'sending' || state === 'waiting',
      )
    },
  }
}
