import { Worker } from 'node:worker_threads'
import type { HashTask } from './phc.ts'

export type HashOutcome = string | boolean

export type HashWorker = {
  /** How many tasks it has; it does them one after another, in the order given. */
  readonly load: number
  /** The thread is gone and its tasks have failed. */
  readonly lost: boolean
  perform(task: HashTask): Promise<HashOutcome>
  terminate(): Promise<unknown>
}

type Answer = { result: HashOutcome; error?: string }

type Waiting = { resolve(outcome: HashOutcome): void; reject(error: Error): void }

export function startHashWorker(): HashWorker {
  const thread = new Worker(new URL('./hash-thread.ts', import.meta.url))
  const waiting: Waiting[] = []
  let lost = false

  thread.on('message', ({ result, error }: Answer) => {
    const first = waiting.shift()
    if (waiting.length === 0) thread.unref()
    if (error === undefined) first?.resolve(result)
    else first?.reject(new Error(error))
  })
  const lose = (cause: unknown) => {
    lost = true
    for (const { reject } of waiting.splice(0))
      reject(new Error('The hashing thread ended', { cause }))
  }
  thread.on('error', lose).on('exit', lose).unref()

  return {
    get load() {
      return waiting.length
    },
    get lost() {
      return lost
    },
    perform(task) {
      const { promise, resolve, reject } = Promise.withResolvers<HashOutcome>()
      waiting.push({ resolve, reject })
      // A process must not end while somebody waits for this answer.
      thread.ref()
      thread.postMessage(task)
      return promise
    },
    terminate: () => thread.terminate(),
  }
}
