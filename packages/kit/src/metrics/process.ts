import { readdirSync } from 'node:fs'
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { Metrics } from './metrics.ts'

const GC_BOUNDS = [0.001, 0.01, 0.1, 1]

const GC_KINDS: Record<number, string> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
}

/** Measures this process. It monitors the event loop, so it is created only when metrics are on. */
export function watchProcess(version: string, clock: () => Date): Metrics {
  const metrics = new Metrics()
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge({ name, help }, read)

  metrics.gauge({ name: 'plinth_build_info', help: 'The version of Plinth and of Node.' }, () => [
    { labels: { version, node: process.versions.node }, value: 1 },
  ])
  metrics.observedCounter(
    { name: 'process_cpu_seconds_total', help: 'Processor time of the process, in seconds.' },
    () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
  )
  gauge('process_resident_memory_bytes', 'Memory of the process, in bytes.', () =>
    process.memoryUsage.rss(),
  )
  gauge('process_start_time_seconds', 'When the process started, in Unix time.', () =>
    Math.round(performance.timeOrigin / 1000),
  )
  gauge('plinth_clock_timestamp_seconds', 'The system clock, in Unix time.', () =>
    Math.round(clock().getTime() / 1000),
  )
  if (process.platform === 'linux')
    gauge('process_open_fds', 'Open file descriptors.', () => readdirSync('/proc/self/fd').length)
  watchLoop(metrics)
  watchCollections(metrics)
  return metrics
}

function watchLoop(metrics: Metrics): void {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  const about = {
    name: 'nodejs_eventloop_lag_p99_seconds',
    help: 'The 99th percentile of the event loop lag since it was last read, 10 seconds ago or more.',
  }
  const read = () => {
    const seconds = delay.percentile(99) / 1e9
    delay.reset()
    return seconds
  }
  // Reading resets the histogram: a second scraper must not take away the first one's values.
  metrics.gauge(about, read, 10)
}

type Collection = PerformanceEntry & { detail: { kind: number } }

function watchCollections(metrics: Metrics): void {
  const observe = metrics.histogram({
    name: 'nodejs_gc_duration_seconds',
    help: 'How long garbage collections took.',
    labels: ['kind'],
    bounds: GC_BOUNDS,
    known: Object.values(GC_KINDS).map((kind) => ({ kind })),
  })
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as Collection[])
      observe({ kind: GC_KINDS[entry.detail.kind] ?? 'other' }, entry.duration / 1000)
  }).observe({ entryTypes: ['gc'] })
}
