/** What happened in this process in the last day, for the home page: a ring of intervals in memory. */
import type { Logger } from '@plinth/kit/logging'
import type { Family } from '@plinth/kit/metrics'
import type { Clock } from '@plinth/kit/runtime'
import type { ReadMetrics } from '../health/history.ts'
import { recordEvery } from '../recording.ts'

const EVERY_SECONDS = 300
/** One day. */
const MAX_INTERVALS = 288

type Counts = {
  signIns: number
  newUsers: number
  payments: number
  refunds: number
  failedWebhooks: number
}

export type Interval = Counts & {
  /** Its end, in Unix milliseconds. */
  at: number
  /** At its end; null if the full edition of storage does not run here. */
  storedBytes: number | null
}

export type Activity = {
  startedAt: number
  everySeconds: number
  /** Oldest first; the last has not ended yet. */
  intervals(): Promise<Interval[]>
  /** Ends one interval and begins the next. */
  record(): Promise<void>
  stop(): void
}

type Reading = { at: number; counts: Counts; storedBytes: number | null }

const NOTHING: Counts = { signIns: 0, newUsers: 0, payments: 0, refunds: 0, failedWebhooks: 0 }

/** Counters start at 0 with the process, so the first interval needs no earlier reading. */
export function keepActivity(read: ReadMetrics, clock: Clock, log: Logger): Activity {
  const startedAt = clock().getTime()
  const ring: Interval[] = []
  let last = NOTHING
  const now = async (): Promise<Reading> => readingOf(await read(), clock().getTime())
  const record = async () => {
    const reading = await now()
    ring.push(since(last, reading))
    if (ring.length > MAX_INTERVALS) ring.shift()
    last = reading.counts
  }
  const name = 'the activity of the last day'
  return {
    startedAt,
    everySeconds: EVERY_SECONDS,
    record,
    intervals: async () => [...ring, since(last, await now())],
    stop: recordEvery({ name, everySeconds: EVERY_SECONDS, log }, record),
  }
}

function since(before: Counts, { at, counts, storedBytes }: Reading): Interval {
  const names = Object.keys(NOTHING) as (keyof Counts)[]
  const increase = names.map((name) => [name, Math.max(0, counts[name] - before[name])])
  return { at, storedBytes, ...(Object.fromEntries(increase) as Counts) }
}

/** Some series of a counter: those with some values of a label. */
type Counter = { metric: string; label: string; counts(value: string | undefined): boolean }

const accepted = { label: 'result', counts: (value?: string) => value === 'accepted' }

/** The counters of the services that each figure adds up. */
export const FIGURES: Record<keyof Counts, Counter[]> = {
  signIns: [{ metric: 'plinth_logins_total', ...accepted }],
  newUsers: [{ metric: 'plinth_registrations_total', ...accepted }],
  payments: [
    { metric: 'plinth_payments_total', label: 'status', counts: (value) => value === 'PAID' },
  ],
  refunds: [{ metric: 'plinth_refunds_total', ...accepted }],
  failedWebhooks: [
    { metric: 'plinth_webhooks_total', label: 'result', counts: (value) => value === 'failed' },
    {
      metric: 'plinth_event_attempts_total',
      label: 'result',
      counts: (value) => value !== 'success',
    },
  ],
}

function readingOf(families: Family[], at: number): Reading {
  const sum = (counters: Counter[]) =>
    counters
      .flatMap(({ metric, label, counts }) =>
        valuesOf(families, metric).filter(({ labels }) => counts(labels[label])),
      )
      .reduce((total, { value }) => total + value, 0)
  const stored = valuesOf(families, 'plinth_stored_bytes')
  return {
    at,
    storedBytes: stored.length === 0 ? null : Math.max(...stored.map(({ value }) => value)),
    counts: {
      signIns: sum(FIGURES.signIns),
      newUsers: sum(FIGURES.newUsers),
      payments: sum(FIGURES.payments),
      refunds: sum(FIGURES.refunds),
      failedWebhooks: sum(FIGURES.failedWebhooks),
    },
  }
}

function valuesOf(families: Family[], name: string) {
  return families.flatMap((family) =>
    family.name === name && family.type !== 'histogram' ? family.samples : [],
  )
}
