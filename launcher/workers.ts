import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { closeOnSignals } from '@plinth/kit'
import { CLOSE, LISTENING } from './worker.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000

/** Runs this program in several processes that share one port. */
export async function runWorkers(count: number): Promise<void> {
  const workers = new Workers()
  closeOnSignals(() => workers.close())
  // A second signal is from somebody who does not want to wait for any of them.
  process.once('exit', () => workers.kill())
  // The first one goes ahead: it migrates the database, and a fault is reported once.
  await workers.fork()
  for (let started = 1; started < count; started++) void workers.fork()
}

class Workers {
  readonly #running = new Set<Worker>()
  #oneHasListened = false
  #closing = false
  #failures = 0

  /** Until it listens. By its own word: Node tells of the first address, and another may be taken. */
  fork(): Promise<void> {
    const worker = cluster.fork()
    const { promise: listens, resolve } = Promise.withResolvers<void>()
    let listened = false
    this.#running.add(worker)
    worker.on('message', (message) => {
      if (message !== LISTENING) return
      listened = this.#oneHasListened = true
      this.#failures = 0
      resolve()
    })
    worker.once('exit', (code) => {
      this.#running.delete(worker)
      if (!this.#closing) this.#replace(worker, code, listened)
    })
    return listens
  }

  /**
   * A first process that cannot start ends everything: another would fail the same way. Later the
   * others still answer, and what the new one misses, such as the database, may come back.
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
    return Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS)
  }

  async close(): Promise<void> {
    this.#closing = true
    const ended = [...this.#running].map((worker) => once(worker, 'exit'))
    // One that is just ending cannot be told any more, and need not be.
    for (const worker of this.#running) worker.send(CLOSE, () => {})
    await Promise.all(ended)
  }

  kill(): void {
    for (const worker of this.#running) worker.process.kill('SIGKILL')
  }
}
