/** OTLP over HTTP as JSON: ids in hex, 64-bit numbers as strings, enums as numbers. */
import type { Attributes, TraceContext } from './trace-context.ts'

/** Where spans are sent, from the standard OpenTelemetry variables. */
export type TracingSettings = {
  endpoint: string
  headers: Record<string, string>
  timeoutMs: number
  /** The share of the traces starting here that is sampled, from 0 to 1. */
  ratio: number
  /** Whether the decision of a trusted caller takes precedence. */
  followsParent: boolean
  serviceName: string | undefined
  attributes: Attributes
}

export type FinishedSpan = TraceContext & {
  parentSpanId: string | undefined
  name: string
  kind: number
  startedAtMs: number
  endedAtMs: number
  attributes: Attributes
  failed: boolean
}

const OK = 1
const ERROR = 2

/** Returns false if the receiver does not accept them; they are not sent again. */
export async function sendSpans(
  { endpoint, headers, timeoutMs, serviceName, attributes }: TracingSettings,
  service: string,
  spans: FinishedSpan[],
): Promise<boolean> {
  const name = serviceName ?? attributes['service.name'] ?? `plinth-${service}`
  const resource = { ...attributes, 'service.name': name }
  const body = {
    resourceSpans: [
      {
        resource: { attributes: listOf(resource) },
        scopeSpans: [{ scope: { name: 'plinth' }, spans: spans.map(spanOf) }],
      },
    ],
  }
  try {
    const reply = await fetch(endpoint, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    })
    await reply.arrayBuffer()
    return reply.ok
  } catch {
    return false
  }
}

function spanOf(span: FinishedSpan) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name,
    kind: span.kind,
    startTimeUnixNano: nanoseconds(span.startedAtMs),
    endTimeUnixNano: nanoseconds(span.endedAtMs),
    attributes: listOf(span.attributes),
    status: { code: span.failed ? ERROR : OK },
  }
}

function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1e3)) * 1000n)
}

function listOf(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  )
}

function anyValue(value: string | number | boolean) {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
