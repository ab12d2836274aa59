import { coalesce, inTrace, type Metrics, type Tracer } from '@plinth/kit'
import { listEndpointsDue } from '../database/deliveries.repository.ts'
import { placeEvents } from '../endpoints/fan-out.ts'
import type { Events } from '../events.ts'
import { openLanes } from './lanes.ts'

const EVERY_MS = 1_000
/** Requests that end together share a round. */
const SOON_MS = 20
/** A busy service looks no more often. */
const APART_MS = 100

export type Dispatcher = {
  /** Something was probably published: look soon, and not only at the next turn. */
  wake(): void
  /** Places what is new and begins what is due; resolves when that is under way. */
  round(): Promise<void>
  /** Resolves when nothing is due and nothing under way. */
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

/** Delivers events to endpoints. Every node has one; leases keep them apart. */
export function startDispatcher(events: Events, options: Options): Dispatcher {
  const lanes = openLanes(events, options)
  let hasEndpoints = true
  const round = coalesce(async () => {
    if (lanes.stopped) return
    hasEndpoints = (await placeEvents(events)) ?? hasEndpoints
    options.onPlaced()
    // Nothing is sent unsigned.
    if (!events.masterKey) return
    const due = await listEndpointsDue(events.db, events.clock())
    await Promise.all(due.map(lanes.fill))
  })
  // The request that wakes it has a trace of its own.
  let lookedAt = Number.NEGATIVE_INFINITY
  const look = () => {
    lookedAt = performance.now()
    inTrace(undefined, round).catch((error) =>
      events.log.error({ err: error }, 'delivering events failed'),
    )
  }
  const timer = options.delivers ? setInterval(look, EVERY_MS).unref() : undefined
  let soon: NodeJS.Timeout | undefined
  // Where no one waits, the turns alone place larger batches, which costs less; a list places by itself.
  const wake = () => {
    if (soon || !(hasEndpoints || options.isRead())) return
    const pause = Math.max(SOON_MS, lookedAt + APART_MS - performance.now())
    soon = setTimeout(() => {
      soon = undefined
      look()
    }, pause).unref()
  }
  const idle = async () => {
    await round()
    await lanes.empty()
  }
  const stop = async () => {
    clearInterval(timer)
    clearTimeout(soon)
    await lanes.stop()
    await round().catch(() => {})
  }
  return { wake, round, idle, stop }
}
