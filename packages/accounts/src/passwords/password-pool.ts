import { passwordQueueFull } from '../problems.ts'
import { createFairQueue } from './fair-queue.ts'
import { type HashOutcome, type HashTask, type HashWorker, startHashWorker } from './hash-worker.ts'

export type PoolOptions = { workers: number; queueLimit: number; deadlineSeconds: number }

// A thread is a third of the memory of a service that has nothing to do.
const IDLE_MS = 10_000

type Job = {
  task: HashTask
  timer: NodeJS.Timeout
  resolve(outcome: HashOutcome): void
  reject(error: unknown): void
}

// A thread has its next task at hand when it finishes one, so that it never waits for the event loop.
const TASKS_AT_HAND = 2

/**
 * Hashing has its own threads: not the event loop, which would stop answering, and not libuv's
 * pool, where every file access and key check would queue behind it. As many run at once as there
 * are workers, which also bounds the memory; what cannot be served in time is told so.
 */
export function createPasswordPool(options: PoolOptions) {
  const queue = createFairQueue<Job>(options.queueLimit)
  const workers = new Set<HashWorker>()
  const resting = new Map<HashWorker, NodeJS.Timeout>()
  let closed = false

  function leastLoaded(): HashWorker | undefined {
    const [least] = [...workers].sort((a, b) => a.load - b.load)
    if (least?.load === 0 || closed) return least
    if (workers.size >= options.workers) return least
    const fresh = startHashWorker()
    workers.add(fresh)
    return fresh
  }

  function dispatch(): void {
    while (queue.size > 0) {
      const worker = leastLoaded()
      if (!worker || worker.load >= TASKS_AT_HAND) return
      const job = queue.shift()
      if (job) void serve(worker, job)
    }
  }

  async function serve(worker: HashWorker, job: Job): Promise<void> {
    clearTimeout(job.timer)
    clearTimeout(resting.get(worker))
    try {
      job.resolve(await worker.perform(job.task))
    } catch (error) {
      job.reject(error)
    }
    if (worker.lost) workers.delete(worker)
    dispatch()
    if (worker.load === 0) resting.set(worker, setTimeout(() => letGo(worker), IDLE_MS).unref())
  }

  function letGo(worker: HashWorker): void {
    workers.delete(worker)
    resting.delete(worker)
    void worker.terminate()
  }

  return {
    /** `client` is whoever shares a turn in the queue. */
    run(task: HashTask, client: string): Promise<HashOutcome> {
      const { promise, resolve, reject } = Promise.withResolvers<HashOutcome>()
      const giveUp = () => {
        queue.remove(client, job)
        reject(passwordQueueFull())
      }
      const timer = setTimeout(giveUp, options.deadlineSeconds * 1000)
      const job: Job = { task, timer, resolve, reject }
      const dropped = queue.push(client, job)
      if (dropped) turnAway(dropped)
      dispatch()
      return promise
    },

    async close(): Promise<void> {
      closed = true
      for (let job = queue.shift(); job; job = queue.shift()) turnAway(job)
      await Promise.all([...workers].map((worker) => worker.terminate()))
    },
  }
}

function turnAway(job: Job): void {
  clearTimeout(job.timer)
  job.reject(passwordQueueFull())
}
