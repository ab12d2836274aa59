import { passwordQueueFull } from '../problems.ts'
import { createFairQueue } from './fair-queue.ts'
import { type HashOutcome, type HashTask, type HashWorker, startHashWorker } from './hash-worker.ts'

export type PoolOptions = { workers: number; queueLimit: number; deadlineSeconds: number }

// A thread is a third of the memory of a service that has nothing to do.
const IDLE_MS = 10_000

type Resting = { worker: HashWorker; timer: NodeJS.Timeout }

type Job = {
  task: HashTask
  timer: NodeJS.Timeout
  resolve(outcome: HashOutcome): void
  reject(error: unknown): void
}

/**
 * Hashing has its own threads: not the event loop, which would stop answering, and not libuv's
 * pool, where every file access and key check would queue behind it. As many run at once as there
 * are workers, which also bounds the memory; what cannot be served in time is told so.
 */
export function createPasswordPool(options: PoolOptions) {
  const queue = createFairQueue<Job>(options.queueLimit)
  const workers = new Set<HashWorker>()
  const idle: Resting[] = []
  let closed = false

  function startWorkers(): void {
    while (queue.size > 0 && (idle.length > 0 || (!closed && workers.size < options.workers))) {
      const worker = wake() ?? startHashWorker()
      workers.add(worker)
      void workOff(worker)
    }
  }

  async function workOff(worker: HashWorker): Promise<void> {
    for (let job = queue.shift(); job; job = queue.shift()) {
      clearTimeout(job.timer)
      try {
        job.resolve(await worker.perform(job.task))
      } catch (error) {
        job.reject(error)
        workers.delete(worker)
        await worker.terminate()
        return startWorkers()
      }
    }
    rest(worker)
  }

  function rest(worker: HashWorker): void {
    const dismiss = () => {
      idle.splice(idle.indexOf(resting), 1)
      workers.delete(worker)
      void worker.terminate()
    }
    const resting = { worker, timer: setTimeout(dismiss, IDLE_MS).unref() }
    idle.push(resting)
  }

  function wake(): HashWorker | undefined {
    const resting = idle.pop()
    clearTimeout(resting?.timer)
    return resting?.worker
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
      startWorkers()
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
