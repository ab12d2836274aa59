import { withSpan } from './tracer.ts'

/**
 * Runs a statement as a span of the current trace. The text has placeholders instead of values, so
 * that no value leaves the process.
 */
export function withStatementSpan<R>(
  system: 'sqlite' | 'postgresql',
  text: string,
  run: () => Promise<R>,
): Promise<R> {
  const attributes = { 'db.system.name': system, 'db.query.text': text }
  return withSpan(nameOf(text), attributes, run, 'client')
}

const TABLE = /\b(?:from|into|update|table)\s+(?:if (?:not )?exists\s+)?"?(\w+)/i

/** `select users`, as OpenTelemetry names statements. */
function nameOf(text: string): string {
  const [operation = ''] = /\w+/.exec(text) ?? []
  const table = TABLE.exec(text)?.[1]
  return table ? `${operation.toLowerCase()} ${table}` : operation.toLowerCase()
}
