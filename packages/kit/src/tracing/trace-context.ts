/** W3C Trace Context: which trace the work at hand belongs to. */
import { AsyncLocalStorage } from 'node:async_hooks'

export type TraceContext = { traceId: string; spanId: string; sampled: boolean }

/** Without a tracer the context is only passed on and logged. */
export type Trace = TraceContext & { tracer?: Tracer }

export type SpanKind = 'internal' | 'server' | 'client'

export type Attributes = Record<string, string | number | boolean | undefined>

export type Span = {
  trace: Trace
  end(name: string, attributes: Attributes, failed: boolean): void
}

export type Tracer = {
  /** A child is recorded as its parent is; what begins here, as often as the settings say. */
  start(kind: SpanKind, parent: TraceContext | undefined): Span
  /** By the id, so that all services decide alike; by the caller where it is to be believed. */
  isSampled(traceId: string, believed?: boolean): boolean
  close(): Promise<void>
}

const current = new AsyncLocalStorage<Trace | undefined>()

export function currentTrace(): Trace | undefined {
  return current.getStore()
}

/** Without a trace the work is outside of every trace. */
export function inTrace<R>(trace: Trace | undefined, work: () => R): R {
  return current.run(trace, work)
}

/** Runs work later in the trace that it was asked for in, which `traceparent` names. */
export function continueTrace<R>(
  traceparent: string | null,
  tracer: Tracer | undefined,
  work: () => R,
): R {
  const context = parseTraceparent(traceparent)
  return inTrace(context && { ...context, tracer }, work)
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Nothing for what the standard calls invalid: a new trace begins then. */
export function parseTraceparent(header: unknown): TraceContext | undefined {
  const match = typeof header === 'string' ? TRACEPARENT.exec(header) : null
  const [, version = '', traceId = '', spanId = '', flags = '', more] = match ?? []
  if (!match || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}

/** What a call to another service takes along. */
export function traceHeaders(): { traceparent?: string } {
  const trace = currentTrace()
  return trace ? { traceparent: traceparentOf(trace) } : {}
}
