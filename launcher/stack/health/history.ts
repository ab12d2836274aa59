/** The last hour of the metrics, for the Health page: a ring of points in memory. */
import type { Logger } from '@plinth/kit/logging'
import type { Family } from '@plinth/kit/metrics'
import type { Clock } from '@plinth/kit/runtime'
import { recordEvery } from '../recording.ts'

export type ReadMetrics = () => Promise<Family[]>

type Gauge = Extract<Family, { type: 'counter' | 'gauge' }>

type Sample = Gauge['samples'][number]

type HistogramSample = Extract<Family, { type: 'histogram' }>['samples'][number]

const EVERY_SECONDS = 10
/** One hour. */
const MAX_POINTS = 360
/** Rates over a shorter time are too noisy. */
const MIN_SECONDS = 5

/** Requests and failures per second, and durations in seconds; null if there were no requests. */
export type ServicePoint = {
  rate: number
  failures: number
  p50: number | null
  p99: number | null
}

export type Disk = { freeBytes: number; sizeBytes: number }

export type Point = {
  /** The end of the interval, in Unix milliseconds. */
  at: number
  services: Record<string, ServicePoint>
  queues: Record<string, number>
  disks: Record<string, Disk>
}

export type History = {
  /** Oldest first; the last may cover an interval that has not ended yet. */
  points(): Promise<Point[]>
  /** Ends one point and begins the next. */
  record(): Promise<void>
  stop(): void
}

type Reading = { at: number; families: Family[] }

/** Counters start at 0 with the process, so the first point needs no earlier reading. */
export function keepHistory(read: ReadMetrics, clock: Clock, log: Logger): History {
  const ring: Point[] = []
  let last: Reading = { at: clock().getTime(), families: [] }
  const now = async (): Promise<Reading> => ({ at: clock().getTime(), families: await read() })
  const record = async () => {
    const reading = await now()
    ring.push(pointOf(last, reading))
    if (ring.length > MAX_POINTS) ring.shift()
    last = reading
  }
  const name = 'the metrics of the last hour'
  return {
    record,
    points: async () => {
      const reading = await now()
      const isLongEnough = reading.at - last.at >= MIN_SECONDS * 1000
      return ring.length === 0 || isLongEnough ? [...ring, pointOf(last, reading)] : ring
    },
    stop: recordEvery({ name, everySeconds: EVERY_SECONDS, log }, record),
  }
}

function pointOf(before: Reading, { at, families }: Reading): Point {
  const seconds = Math.max((at - before.at) / 1000, 1)
  const earlier = requestsOf(before.families)
  const services = [...requestsOf(families)].map(([name, requests]) => {
    const since = requests.minus(earlier.get(name))
    return [name, since.point(seconds)] as const
  })
  const gauges = families.filter((family): family is Gauge => family.type === 'gauge')
  return {
    at,
    services: Object.fromEntries(services),
    queues: queuesOf(gauges),
    disks: disksOf(gauges),
  }
}

/** The requests of one service's clients: durations and failures. */
class Requests {
  counts: number[] = []
  failures = 0
  readonly bounds: number[]

  constructor(bounds: number[]) {
    this.bounds = bounds
  }

  add({ labels, counts }: HistogramSample): void {
    const failed = Number(labels.http_response_status_code) >= 500
    for (const [bucket, count] of counts.entries()) {
      this.counts[bucket] = (this.counts[bucket] ?? 0) + count
      if (failed) this.failures += count
    }
  }

  /** Never negative: a total that fell was reset to 0. */
  minus(earlier: Requests | undefined): Requests {
    const since = new Requests(this.bounds)
    since.counts = this.counts.map((count, bucket) =>
      Math.max(0, count - (earlier?.counts[bucket] ?? 0)),
    )
    since.failures = Math.max(0, this.failures - (earlier?.failures ?? 0))
    return since
  }

  point(seconds: number): ServicePoint {
    const total = this.counts.reduce((sum, count) => sum + count, 0)
    return {
      rate: total / seconds,
      failures: this.failures / seconds,
      p50: this.#quantile(0.5, total),
      p99: this.#quantile(0.99, total),
    }
  }

  /** Interpolates linearly within a bucket, like Prometheus. The last bucket has no upper bound. */
  #quantile(share: number, total: number): number | null {
    if (total === 0) return null
    const wanted = share * total
    let below = 0
    for (const [bucket, count] of this.counts.entries()) {
      if (below + count >= wanted) {
        const lower = this.bounds[bucket - 1] ?? 0
        const upper = this.bounds[bucket] ?? lower
        return lower + (upper - lower) * ((wanted - below) / count)
      }
      below += count
    }
    return this.bounds.at(-1) ?? null
  }
}

/** Probes are fast and frequent and say nothing about clients; a stream lasts as long as it is read. */
const NOT_TIMED = /^\/(actuator|api\/events\/stream$)/

function requestsOf(families: Family[]): Map<string, Requests> {
  const byService = new Map<string, Requests>()
  for (const family of families) {
    if (family.type !== 'histogram' || family.name !== 'http_server_request_duration_seconds')
      continue
    for (const sample of family.samples) {
      if (NOT_TIMED.test(sample.labels.http_route ?? '')) continue
      const name = sample.labels.service ?? ''
      const requests = byService.get(name) ?? new Requests(family.bounds)
      byService.set(name, requests)
      requests.add(sample)
    }
  }
  return byService
}

/** Queues in this process or in one of its workers; their lengths add up. */
export const OWN_QUEUES: Record<string, string> = {
  http_server_active_requests: 'Requests being served',
  plinth_password_queue_length: 'Password hashes waiting',
}

/** Queues in the database: every worker reports the same one. */
export const SHARED_QUEUES: Record<string, string> = {
  plinth_webhook_backlog: 'Webhooks to try again',
  plinth_payments_unfinished: 'Payments without an answer',
  plinth_event_backlog: 'Events to deliver',
  plinth_mail_backlog: 'Mails to send',
}

function queuesOf(gauges: Gauge[]): Point['queues'] {
  const queues: Point['queues'] = {}
  for (const { name, samples } of gauges) {
    const shared = SHARED_QUEUES[name]
    const queue = shared ?? OWN_QUEUES[name]
    if (!queue) continue
    // Items that failed for good are no longer waiting.
    const waiting = samples.filter(({ labels }) => labels.state !== 'failed')
    for (const { value } of shared ? largestOfWorkers(waiting) : waiting)
      queues[queue] = (queues[queue] ?? 0) + value
  }
  return queues
}

function largestOfWorkers(samples: Sample[]): Sample[] {
  const largest = new Map<string, Sample>()
  for (const sample of samples) {
    const key = JSON.stringify({ ...sample.labels, worker: undefined })
    if (sample.value >= (largest.get(key)?.value ?? 0)) largest.set(key, sample)
  }
  return [...largest.values()]
}

function disksOf(gauges: Gauge[]): Point['disks'] {
  const disks: Point['disks'] = {}
  for (const { name, samples } of gauges) {
    const field = diskField(name)
    if (!field) continue
    for (const { labels, value } of samples) {
      const known = disks[diskName(labels)] ?? { freeBytes: 0, sizeBytes: 0 }
      disks[diskName(labels)] = { ...known, [field]: value }
    }
  }
  return disks
}

function diskField(name: string): keyof Disk | undefined {
  if (name === 'plinth_disk_free_bytes') return 'freeBytes'
  return name === 'plinth_disk_size_bytes' ? 'sizeBytes' : undefined
}

const diskName = ({ service, role }: HistogramSample['labels']) => `${service}: ${role}`
