import { Worker } from 'node:worker_threads'
import { type Block, blockMemory, type DigestTask } from './blocks.ts'

/** A SHA-256 over bytes as they come. */
export type FileDigest = {
  /** The first bytes of a block, which stays as it is until they are hashed. */
  update(block: Block, length: number): Promise<void>
  /** Lower-case hex. Also for a file that is given up: nothing of it stays behind. */
  finish(): Promise<string>
}

const IDLE_MS = 10_000

let worker: DigestWorker | undefined

let filesSeen = 0

/** In a thread beside this one: hashing a large file would keep everybody else waiting. */
export function openFileDigest(): FileDigest {
  if (!worker || worker.lost) worker = startWorker()
  const { perform, expect } = worker
  filesSeen += 1
  const file = filesSeen
  expect(file)
  return {
    update: async ({ offset }, length) => {
      await perform({ file, offset, length, last: false })
    },
    finish: () => perform({ file, offset: 0, length: 0, last: true }),
  }
}

type DigestWorker = {
  readonly lost: boolean
  /** From now to its last task the thread stays, however long the file's bytes take to come. */
  expect(file: number): void
  perform(task: DigestTask): Promise<string>
}

function startWorker(): DigestWorker {
  const thread = new Worker(new URL('./digest-thread.ts', import.meta.url), {
    workerData: blockMemory(),
  })
  const waiting: { resolve(digest: string): void; reject(error: Error): void }[] = []
  const openFiles = new Set<number>()
  let lost = false
  const lose = (cause: unknown) => {
    lost = true
    for (const { reject } of waiting.splice(0))
      reject(new Error('The digest thread ended.', { cause }))
  }
  const idle = setTimeout(() => {
    if (waiting.length > 0 || openFiles.size > 0) return idle.refresh()
    lost = true
    thread.terminate()
  }, IDLE_MS).unref()
  thread.on('message', (digest: string) => {
    waiting.shift()?.resolve(digest)
    if (waiting.length === 0) thread.unref()
  })
  thread.on('error', lose).on('exit', lose).unref()
  return {
    get lost() {
      return lost
    },
    expect: (file) => void openFiles.add(file),
    perform(task) {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      if (task.last) openFiles.delete(task.file)
      if (lost) return Promise.reject(new Error('The digest thread ended.'))
      idle.refresh()
      thread.postMessage(task)
      waiting.push({ resolve, reject })
      thread.ref() // A process must not end while somebody waits for this answer.
      return promise
    },
  }
}
