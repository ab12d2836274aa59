import { Worker } from 'node:worker_threads'
import { defineProblem } from '@plinth/kit/problems'
import { createNetworkQueue, entryBeside } from '@plinth/kit/runtime'
import type { HashTask } from './phc.ts'

export const passwordQueueFull = defineProblem(
  'TOO_BUSY',
  503,
  'Too many people are signing in at this moment. Try again shortly.',
  { headers: { 'retry-after': '5' } },
)

export type PoolOptions = { workers: number; queueLimit: number; deadlineSeconds: number }

// Idle threads are ended: each takes a third as much memory as an idle service.
const IDLE_MS = 10_000

type Job = {
  task: HashTask
  timer: NodeJS.Timeout
  resolve(outcome: HashOutcome): void
  reject(error: unknown): void
}

/** Where a task comes from, and whether its user has a session there. */
export type Client = { address: string; isKnown: boolean }

// When both are waiting, every fourth turn is for networks without a session: they wait longer, but not for ever.
const TURNS_OF_UNKNOWN = 4

/** Fair between networks; those where the user has a session come first. */
function createQueue(limit: number) {
  const known = createNetworkQueue<Job>(limit)
  const unknown = createNetworkQueue<Job>(limit)
  const queueOf = ({ isKnown }: Client) => (isKnown ? known : unknown)
  let turn = 0
  return {
    get size() {
      return known.size + unknown.size
    },
    push: (client: Client, job: Job) => queueOf(client).push(client.address, job),
    remove: (client: Client, job: Job) => queueOf(client).remove(client.address, job),
    shift(): Job | undefined {
      turn = (turn + 1) % TURNS_OF_UNKNOWN
      return turn === 0 ? (unknown.shift() ?? known.shift()) : (known.shift() ?? unknown.shift())
    },
  }
}

// A thread has its next task queued when it finishes one, so that it never waits for the event loop.
const TASKS_PER_WORKER = 2

/**
 * Hashing has its own threads: on the event loop it would block everything, and in libuv's pool every file
 * access and signature check would queue behind it. The number of workers bounds the memory; a task that
 * cannot start in time is refused.
 */
export function createPasswordPool(options: PoolOptions) {
  const queue = createQueue(options.queueLimit)
  const workers = new Set<HashWorker>()
  let closed = false

  function leastLoaded(): HashWorker | undefined {
    if (closed) return undefined
    if (workers.size >= options.workers) return [...workers].sort((a, b) => a.load - b.load)[0]
    const worker = takeIdle() ?? startHashWorker()
    workers.add(worker)
    return worker
  }

  function dispatch(): void {
    while (queue.size > 0) {
      const worker = leastLoaded()
      if (!worker || worker.load >= TASKS_PER_WORKER) return
      const job = queue.shift()
      if (job) void serve(worker, job)
    }
  }

  async function serve(worker: HashWorker, job: Job): Promise<void> {
    clearTimeout(job.timer)
    try {
      job.resolve(await worker.perform(job.task))
    } catch (error) {
      job.reject(error)
    }
    if (worker.lost) workers.delete(worker)
    dispatch()
    if (closed || worker.load > 0 || !workers.delete(worker)) return
    makeIdle(worker)
  }

  return {
    run(task: HashTask, client: Client): Promise<HashOutcome> {
      const { promise, resolve, reject } = Promise.withResolvers<HashOutcome>()
      const giveUp = () => {
        queue.remove(client, job)
        reject(passwordQueueFull())
      }
      const timer = setTimeout(giveUp, options.deadlineSeconds * 1000)
      const job: Job = { task, timer, resolve, reject }
      const dropped = queue.push(client, job)
      if (dropped) refuse(dropped)
      dispatch()
      return promise
    },

    waiting: () => queue.size,

    async close(): Promise<void> {
      closed = true
      for (let job = queue.shift(); job; job = queue.shift()) refuse(job)
      await Promise.all([...workers].map((worker) => worker.terminate()))
    },
  }
}

function refuse(job: Job): void {
  clearTimeout(job.timer)
  job.reject(passwordQueueFull())
}

/** Idle threads, shared by every pool of the process: starting a thread takes longer than hashing. */
const idle = new Map<HashWorker, NodeJS.Timeout>()

function makeIdle(worker: HashWorker): void {
  const retire = () => {
    idle.delete(worker)
    void worker.terminate()
  }
  idle.set(worker, setTimeout(retire, IDLE_MS).unref())
}

function takeIdle(): HashWorker | undefined {
  // Takes the most recently idle one, so that the extra threads of a burst reach their timeout.
  for (const [worker, timer] of [...idle].reverse()) {
    clearTimeout(timer)
    idle.delete(worker)
    if (!worker.lost) return worker
  }
  return undefined
}

type HashOutcome = string | boolean

type HashWorker = {
  /** The number of its tasks; it performs them one at a time, in order. */
  readonly load: number
  /** Whether the thread has ended; its tasks have then failed. */
  readonly lost: boolean
  perform(task: HashTask): Promise<HashOutcome>
  terminate(): Promise<unknown>
}

type Answer = { result: HashOutcome; error?: string }

type Waiting = { resolve(outcome: HashOutcome): void; reject(error: Error): void }

function startHashWorker(): HashWorker {
  const thread = new Worker(entryBeside(import.meta, 'hash-thread'))
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
      // The process must not exit while a caller waits for this result.
      thread.ref()
      thread.postMessage(task)
      return promise
    },
    terminate: () => thread.terminate(),
  }
}
