import { randomFillSync } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Metrics } from '../metrics/metrics.ts'
import type { FinishedSpan, TracingSettings } from './otlp.ts'
import {
  type Attributes,
  currentTrace,
  inTrace,
  type SpanKind,
  type Tracer,
} from './trace-context.ts'

/** Span kinds as OTLP numbers them. */
const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3 }

const MAX_WAITING = 2_048
const BATCH = 512
const EVERY_MS = 1_000
const PAUSE_MS = 5_000
const MAX_CLOSE_MS = 2_000

/**
 * Collects the spans of one service and sends them in batches. Requests never wait for it: spans that
 * do not fit in the queue are dropped and counted.
 */
export function createTracer(
  settings: TracingSettings,
  service: string,
  metrics: Metrics,
  nowMs = sinceEpochMs,
): Tracer {
  const queue = createQueue(settings, service, metrics, nowMs)
  return {
    isSampled: (traceId, callerSampled) =>
      callerSampled !== undefined && settings.followsParent
        ? callerSampled
        : Number.parseInt(traceId.slice(-14), 16) < settings.ratio * 2 ** 56,

    start(kind, parent) {
      const traceId = parent?.traceId ?? randomHex(16)
      const sampled = parent?.sampled ?? this.isSampled(traceId)
      const context = { traceId, spanId: randomHex(8), sampled }
      const startedAtMs = nowMs()
      return {
        trace: { ...context, tracer: this },
        end(name, attributes, failed) {
          if (!sampled) return
          const parentSpanId = parent?.spanId
          const times = { startedAtMs, endedAtMs: nowMs() }
          const about = { name, kind: KINDS[kind], attributes, failed }
          queue.add({ ...context, ...times, parentSpanId, ...about })
        },
      }
    },
    close: () => queue.close(),
  }
}

function createQueue(
  settings: TracingSettings,
  service: string,
  metrics: Metrics,
  nowMs: () => number,
) {
  const countDropped = metrics.counter({
    name: 'plinth_spans_dropped_total',
    help: 'Spans that were not sent: the queue was full, or the receiver refused them.',
  })
  let waiting: FinishedSpan[] = []
  let sending: Promise<void> | undefined
  let pausedUntilMs = 0
  let closing = false

  const send = async () => {
    const { sendSpans } = await import('./otlp.ts')
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH)
      waiting = waiting.slice(BATCH)
      if (await sendSpans(settings, service, batch)) continue
      countDropped({}, batch.length)
      // A receiver that is down fails at once: without a pause every batch would try it again.
      pausedUntilMs = nowMs() + PAUSE_MS
      if (!closing) return
    }
  }
  const flush = () => {
    sending ??= send().finally(() => {
      sending = undefined
    })
    return sending
  }
  const flushUnlessPaused = () => {
    if (nowMs() >= pausedUntilMs) void flush()
  }
  const timer = setInterval(() => waiting.length > 0 && flushUnlessPaused(), EVERY_MS).unref()

  return {
    add(span: FinishedSpan) {
      if (waiting.length >= MAX_WAITING) return countDropped({})
      waiting.push(span)
      if (waiting.length >= BATCH) flushUnlessPaused()
    },
    async close(): Promise<void> {
      closing = true
      clearInterval(timer)
      // A receiver that hangs must not delay the shutdown.
      await Promise.race([flush(), setTimeout(MAX_CLOSE_MS, undefined, { ref: false })])
    },
  }
}

const pool = Buffer.alloc(4096)
let used = pool.length

/** Generates bytes for many ids at once: one call costs more than everything else about a span. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += bytes
  return pool.toString('hex', used - bytes, used)
}

/** Monotonic: setting the system clock never makes a child start before its parent. */
function sinceEpochMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Runs work as a span of the current trace; outside a trace it just runs it. */
export async function withSpan<R>(
  name: string,
  attributes: Attributes,
  work: () => Promise<R>,
  kind: SpanKind = 'internal',
): Promise<R> {
  const parent = currentTrace()
  if (!parent?.tracer || !parent.sampled) return work()
  const span = parent.tracer.start(kind, parent)
  try {
    const result = await inTrace(span.trace, work)
    span.end(name, attributes, false)
    return result
  } catch (error) {
    span.end(name, { ...attributes, 'error.type': nameOf(error) }, true)
    throw error
  }
}

function nameOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: string }
  return typeof code === 'string' ? code : (name ?? 'unknown')
}
