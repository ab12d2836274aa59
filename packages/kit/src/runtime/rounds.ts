export type Rounds = {
  /** There is probably work: a round starts soon instead of after the pause. */
  wake(): void
  /** Starts no more rounds; resolves when the one in progress has ended. */
  stop(): Promise<void>
}

type Options = {
  /** Does what is due and returns the pause before the next round in milliseconds. It must not reject. */
  round(): Promise<number>
  /** Calls of `wake` within this time share a round. */
  soonMs: number
  /** The shortest time from the start of a round to the start of the next one that `wake` asks for. */
  gapMs?: number
}

/** Works off a queue in rounds, one at a time: when it is woken, and otherwise after the pause each round asks for. */
export function startRounds({ round, soonMs, gapMs = 0 }: Options): Rounds {
  let timer: NodeJS.Timeout | undefined
  let plannedAt = Number.POSITIVE_INFINITY
  let startedAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined
  let isWoken = false
  let isStopped = false

  const plan = (ms: number) => {
    const at = performance.now() + ms
    if (isStopped || at >= plannedAt) return
    clearTimeout(timer)
    plannedAt = at
    timer = setTimeout(start, ms).unref()
  }
  const start = () => {
    plannedAt = Number.POSITIVE_INFINITY
    startedAt = performance.now()
    isWoken = false
    running = round().then((pauseMs) => {
      running = undefined
      plan(isWoken ? untilSoon() : pauseMs)
    })
  }
  const untilSoon = () => Math.max(soonMs, startedAt + gapMs - performance.now())
  const wake = () => {
    isWoken = true
    if (!running) plan(untilSoon())
  }
  const stop = async () => {
    isStopped = true
    clearTimeout(timer)
    await running
  }
  plan(soonMs)
  return { wake, stop }
}
