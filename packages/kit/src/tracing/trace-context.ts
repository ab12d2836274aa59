/** W3C Trace Context: which trace the current work belongs to. */
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
  /** A child is sampled if its parent is; a trace that starts here, as often as the settings say. */
  start(kind: SpanKind, parent: TraceContext | undefined): Span
  /** Decides by the trace id, so that all services agree, or adopts the decision of a trusted caller. */
  isSampled(traceId: string, callerSampled?: boolean): boolean
  close(): Promise<void>
}

const current = new AsyncLocalStorage<Trace | undefined>()

export function currentTrace(): Trace | undefined {
  return current.getStore()
}

/** With `undefined`, the work runs outside any trace. */
export function inTrace<R>(trace: Trace | undefined, work: () => R): R {
  return current.run(trace, work)
}

/** Runs deferred work in the trace that requested it, which `traceparent` names. */
export function continueTrace<R>(
  traceparent: string | null,
  tracer: Tracer | undefined,
  work: () => R,
): R {
  const context = parseTraceparent(traceparent)
  return inTrace(context && { ...context, tracer }, work)
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** `undefined` for a header that the standard calls invalid: a new trace starts then. */
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

/** Headers that pass the trace on to another service. */
export function traceHeaders(): { traceparent?: string } {
  const trace = currentTrace()
  return trace ? { traceparent: traceparentOf(trace) } : {}
}
