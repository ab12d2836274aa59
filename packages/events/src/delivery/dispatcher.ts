import type { Metrics } from '@plinth/kit/metrics'
import { coalesce, startRounds } from '@plinth/kit/runtime'
import { inTrace, type Tracer } from '@plinth/kit/tracing'
import { listEndpointsDue, updatePlannedAhead } from '../database/deliveries.repository.ts'
import { placeEvents } from '../endpoints/fan-out.ts'
import type { Events } from '../events.ts'
import { openLanes } from './lanes.ts'

const POLL_EVERY_MS = 1_000
/** Requests that end within this time share a round. */
const WAKE_DELAY_MS = 20
/** The shortest time between rounds on a busy service. */
const MIN_GAP_MS = 100

export type Dispatcher = {
  /** An event was probably published: start a round soon instead of at the next poll. */
  wake(): void
  /** Places new events and starts the due deliveries; resolves once those are in flight. */
  round(): Promise<void>
  /** Runs a round; resolves when nothing is due and nothing in flight. */
  idle(): Promise<void>
  stop(): Promise<void>
}

type Options = {
  onPlaced: () => void
  /** Whether the stream has readers. */
  isRead: () => boolean
  metrics: Metrics
  tracer: Tracer | undefined
  delivers: boolean
}

/** Delivers events to endpoints. Every node runs one; leases keep nodes from sending the same delivery. */
export function startDispatcher(events: Events, options: Options): Dispatcher {
  const lanes = openLanes(events, options)
  let hasEndpoints = true
  const wasSetBack = watchClock(events)
  const round = coalesce(async () => {
    if (lanes.stopped) return
    hasEndpoints = (await placeEvents(events)) ?? hasEndpoints
    options.onPlaced()
    // Without a master key the secrets cannot be opened, and nothing is sent unsigned.
    if (!events.masterKey) return
    if (wasSetBack()) await updatePlannedAhead(events.db, events.clock())
    const due = await listEndpointsDue(events.db, events.clock())
    await Promise.all(due.map(lanes.fill))
  })
  const failed = (err: unknown) =>
    events.log.outages.failed({ state: 'deliveries', message: 'delivering events failed', err })
  const rounds = options.delivers
    ? startRounds({
        // A round must not join the trace of the request that woke it.
        round: () =>
          inTrace(undefined, round)
            .catch(failed)
            .then(() => POLL_EVERY_MS),
        soonMs: WAKE_DELAY_MS,
        gapMs: MIN_GAP_MS,
      })
    : undefined
  // If nobody is waiting, leave the outbox to the poll: larger batches cost less, and reading the list
  // places events first anyway.
  const wake = () => {
    if (hasEndpoints || options.isRead()) rounds?.wake()
  }
  const idle = async () => {
    await round()
    await lanes.empty()
  }
  const stop = async () => {
    await rounds?.stop()
    await lanes.stop()
    await round().catch(failed)
  }
  return { wake, round, idle, stop }
}

const TOLERATED_MS = 1_000

/** Whether the clock was set back since the last call. The first call cannot know, and says yes. */
function watchClock({ clock }: Events): () => boolean {
  let last = Number.POSITIVE_INFINITY
  return () => {
    const ahead = clock().getTime() - performance.now()
    const isSetBack = ahead < last - TOLERATED_MS
    last = ahead
    return isSetBack
  }
}
