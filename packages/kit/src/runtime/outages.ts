type Log = {
  error(entry: object, message: string): void
  info(entry: object, message: string): void
}

export type Failure = {
  /** What repeated failures have in common: the code of a problem, the name of a job. */
  state: string
  message: string
  err: unknown
  /** Logged with the first failure only. */
  details?: object
  /** Without a failure for this long, the outage is over. */
  quietMs?: number
}

type Outage = Failure & {
  quietMs: number
  since: number
  lastAt: number
  loggedAt: number
  failures: number
  unlogged: number
}

const QUIET_MS = 10_000
const REMIND_MS = 60_000
const REVIEW_MS = 5_000

/**
 * Logs an outage, however many requests or jobs meet it, as few lines: the first failure, a count every minute
 * while it lasts, and its end. A single failure is a single line.
 */
export class Outages {
  readonly #log: Log
  readonly #now: () => number
  readonly #outages = new Map<string, Outage>()
  #timer: NodeJS.Timeout | undefined

  constructor(log: Log, now = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  failed(failure: Failure): void {
    const now = this.#now()
    const known = this.#outages.get(failure.state)
    if (known) {
      Object.assign(known, { err: failure.err, lastAt: now })
      known.failures += 1
      known.unlogged += 1
      return
    }
    const { state, message, err, details, quietMs = QUIET_MS } = failure
    this.#log.error({ ...details, err }, message)
    const times = { since: now, lastAt: now, loggedAt: now }
    this.#outages.set(state, { ...failure, ...times, quietMs, failures: 1, unlogged: 0 })
    this.#timer ??= setInterval(() => this.review(), REVIEW_MS).unref()
  }

  /** For work that knows when it succeeds again. */
  ended(state: string): void {
    const outage = this.#outages.get(state)
    if (!outage) return
    this.#outages.delete(state)
    this.#stopIfIdle()
    if (outage.failures > 1) this.#log.info(this.#summaryOf(outage), `over: ${outage.message}`)
  }

  review(): void {
    const now = this.#now()
    for (const outage of this.#outages.values())
      if (now - outage.lastAt >= outage.quietMs) this.ended(outage.state)
      else if (outage.unlogged > 0 && now - outage.loggedAt >= REMIND_MS) {
        this.#log.error({ ...this.#summaryOf(outage), err: outage.err }, outage.message)
        Object.assign(outage, { loggedAt: now, unlogged: 0 })
      }
  }

  /** Logs the counts that are still to be logged. */
  close(): void {
    for (const state of this.#outages.keys()) this.ended(state)
  }

  #summaryOf({ state, failures, since, lastAt }: Outage) {
    return { state, failures, seconds: Math.round((lastAt - since) / 1000) }
  }

  #stopIfIdle(): void {
    if (this.#outages.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
