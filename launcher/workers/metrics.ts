/** Merges the metrics of several processes: the primary's side, then the worker's. */
import type { Worker } from 'node:cluster'
import { type Family, labelled, merged } from '@plinth/kit/metrics'
import type { ReadMetrics } from '../stack/health/history.ts'

type Request = { metricsWanted: number }
type Answer = { metrics: Family[]; wanted: number }

const ANSWER_MS = 1_000

/**
 * Sums the counters of all workers. An exited worker's last counts stay in the sum, because a total that falls
 * looks like a counter reset. Gauges are labelled with the number of their worker.
 */
export class WorkerMetrics {
  readonly #alive = new Map<Worker, { slot: number; last: Family[] }>()
  #ofExited: Family[] = []
  #asked = 0

  add(worker: Worker): void {
    const taken = new Set([...this.#alive.values()].map(({ slot }) => slot))
    let slot = 1
    while (taken.has(slot)) slot += 1
    const state = { slot, last: [] as Family[] }
    this.#alive.set(worker, state)
    worker.on('message', (message: Partial<Answer>) => {
      if (message.metrics) state.last = message.metrics
    })
    worker.once('exit', () => {
      this.#alive.delete(worker)
      this.#ofExited = merged([...this.#ofExited, ...totals(state.last)])
    })
  }

  async read(): Promise<Family[]> {
    await Promise.all([...this.#alive.keys()].map((worker) => this.#ask(worker)))
    const parts = [...this.#alive.values()].flatMap(({ slot, last }) => [
      ...totals(last),
      ...labelled(gauges(last), { worker: String(slot) }),
    ])
    return merged([...this.#ofExited, ...parts])
  }

  /** Resolves when the worker has answered, or on a timeout: a busy worker must not delay the others' metrics. */
  async #ask(worker: Worker): Promise<void> {
    this.#asked += 1
    const wanted = this.#asked
    const { promise, resolve } = Promise.withResolvers<void>()
    const onAnswer = (message: Partial<Answer>) => message.wanted === wanted && resolve()
    const timer = setTimeout(resolve, ANSWER_MS)
    worker.on('message', onAnswer)
    worker.send({ metricsWanted: wanted } satisfies Request, (error) => error && resolve())
    await promise
    clearTimeout(timer)
    worker.off('message', onAnswer)
  }
}

const totals = (families: Family[]) => families.filter(({ type }) => type !== 'gauge')

const gauges = (families: Family[]) => families.filter(({ type }) => type === 'gauge')

/** Sends the metrics of this worker when the primary asks. */
export function answerWithMetrics(worker: Worker, read: () => ReadMetrics): void {
  let metrics: ReadMetrics | undefined
  process.on('message', async ({ metricsWanted }: Partial<Request>) => {
    if (metricsWanted === undefined) return
    metrics ??= read()
    const answer = { metrics: await metrics(), wanted: metricsWanted } satisfies Answer
    // The primary may have exited in the meantime.
    worker.send(answer, () => {})
  })
}
