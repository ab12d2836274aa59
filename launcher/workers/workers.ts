/** Several processes of one service behind one port: the primary's side, then the worker's. */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { closeOnSignals, type Health } from '@plinth/kit/http'
import type { ManagementConfig } from '../config.ts'
import { startManagement } from '../stack/management.ts'
import { WorkerMetrics } from './metrics.ts'

/** From the primary to a worker: finish the requests in flight and exit. */
const CLOSE = 'close'
/** From a worker to the primary: listening on every address. */
const LISTENING = 'listening'

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 10_000

/** Runs this program in several processes that share one port. */
export async function runWorkers(
  count: number,
  management: ManagementConfig | undefined,
): Promise<void> {
  const workers = new Workers()
  closeOnSignals(() => workers.close())
  // A second signal ends this process without waiting for the workers; they must not outlive it.
  process.once('exit', () => workers.kill())
  // The first worker starts alone: it migrates the database, and a fault is reported only once.
  await workers.fork()
  await startManagement(management, () => ({
    metrics: () => workers.metrics.read(),
    health: async () => workers.health(),
  }))
  for (let started = 1; started < count; started++) void workers.fork()
}

class Workers {
  readonly metrics = new WorkerMetrics()
  readonly #running = new Set<Worker>()
  readonly #listening = new Set<Worker>()
  #oneHasListened = false
  #closing = false
  #failures = 0

  /**
   * Resolves when the new worker reports that it is listening. Node's own `listening` event fires for the first
   * address, when the second may still turn out to be in use.
   */
  fork(): Promise<void> {
    const worker = cluster.fork()
    const { promise: listens, resolve } = Promise.withResolvers<void>()
    let listened = false
    this.#running.add(worker)
    this.metrics.add(worker)
    worker.on('message', (message) => {
      if (message !== LISTENING) return
      listened = this.#oneHasListened = true
      this.#listening.add(worker)
      this.#failures = 0
      resolve()
    })
    worker.once('exit', (code) => {
      this.#running.delete(worker)
      this.#listening.delete(worker)
      if (!this.#closing) this.#replace(worker, code, listened)
    })
    return listens
  }

  /**
   * If the very first worker cannot start, the primary exits: another worker would fail the same way. Later,
   * other workers still answer, and whatever is missing, such as the database, may come back.
   */
  #replace(worker: Worker, code: number, listened: boolean): void {
    if (!this.#oneHasListened) process.exit(code || 1)
    const pauseMs = listened ? 0 : this.#nextPause()
    console.error(
      JSON.stringify({ msg: 'worker replaced', pid: worker.process.pid, code, pauseMs }),
    )
    setTimeout(() => this.#closing || void this.fork(), pauseMs)
  }

  #nextPause(): number {
    this.#failures += 1
    return Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
  }

  /** Says nothing about dependencies: each worker reports those at the public port. */
  health(): Health {
    if (this.#closing) return { status: 'DOWN', reason: 'The service is stopping.' }
    if (this.#listening.size > 0) return { status: 'UP' }
    return { status: 'DOWN', reason: 'No worker process is listening.' }
  }

  async close(): Promise<void> {
    this.#closing = true
    const ended = [...this.#running].map((worker) => once(worker, 'exit'))
    // Sending fails if the worker is already exiting, which is just as good.
    for (const worker of this.#running) worker.send(CLOSE, () => {})
    await Promise.all(ended)
  }

  kill(): void {
    for (const worker of this.#running) worker.process.kill('SIGKILL')
  }
}

type Close = () => Promise<void>

/**
 * Makes a worker ignore signals and close when the primary asks it to or is gone. Ctrl-C and supervisors signal
 * every process, and a worker that counted both its own signal and the primary's would take the second as "exit
 * immediately". Returns a function that sets how to close; until it is called there is nothing to finish.
 */
export function followPrimary(worker: Worker): (close: Close) => void {
  let close: Close | undefined = async () => {}
  const stop = () => {
    close?.().then(
      () => process.exit(0),
      () => process.exit(1),
    )
    close = undefined
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})
  process.on('message', (message) => message === CLOSE && stop())
  worker.once('disconnect', () => {
    // Otherwise Node immediately ends a worker that lost its primary, and with it the requests in flight.
    worker.exitedAfterDisconnect = true
    stop()
  })
  return (closeService) => {
    if (close) close = closeService
  }
}

/** Does nothing in a process that is not a worker. */
export function reportListening(): void {
  cluster.worker?.send(LISTENING, () => {})
}
