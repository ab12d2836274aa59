import { Worker } from 'node:worker_threads'
import type { HashCost } from './phc.ts'

export type HashTask =
  | { kind: 'hash'; password: string; cost: HashCost }
  | { kind: 'verify'; password: string; hash: string }

export type HashOutcome = string | boolean

export type HashWorker = {
  /** One task at a time. Rejects when the thread is lost, and then it is of no more use. */
  perform(task: HashTask): Promise<HashOutcome>
  terminate(): Promise<unknown>
}

type Answer = { result: HashOutcome; error?: string }

export function startHashWorker(): HashWorker {
  const thread = new Worker(new URL('./hash-thread.ts', import.meta.url))
  thread.unref()
  const perform = async (task: HashTask) => {
    // A process must not end while somebody waits for this answer.
    thread.ref()
    thread.postMessage(task)
    const { result, error } = await nextAnswer(thread)
    thread.unref()
    return error === undefined ? result : Promise.reject(new Error(error))
  }
  return { perform, terminate: () => thread.terminate() }
}

function nextAnswer(thread: Worker): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const lost = (cause: unknown) => reject(new Error('The hashing thread ended', { cause }))
  thread.once('message', resolve).once('error', lost).once('exit', lost)
  return promise.finally(() => {
    thread.off('message', resolve).off('error', lost).off('exit', lost)
  })
}
