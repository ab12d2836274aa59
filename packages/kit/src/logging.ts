import { type DestinationStream, pino } from 'pino'
import { Outages } from './runtime/outages.ts'
import { currentTrace } from './tracing/trace-context.ts'

export type Logger = ReturnType<typeof createLogger>

// Defence in depth: nothing logs these on purpose, and if something ever does, the value is redacted.
const SECRETS = new Set([
  'authorization',
  'cookie',
  'password',
  'currentPassword',
  'newPassword',
  'accessToken',
  'refreshToken',
  'token',
  'secret',
  'secretKey',
  'accessKey',
  'x-api-key',
  'apiKey',
])

/** Logs JSON; on a terminal, readable lines. */
export function createLogger(
  name: string,
  level: string,
  destination = terminalOf(process.stdout),
) {
  const options = {
    name,
    level,
    formatters: { log: (entry: object) => withoutSecrets(entry) },
    hooks: { streamWrite: withoutServiceKeys },
    serializers: { err: describeError },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: () => {
      const trace = currentTrace()
      return trace ? { traceId: trace.traceId } : {}
    },
  }
  const log = destination ? pino(options, destination) : pino(options)
  return Object.assign(log, { outages: new Outages(log) })
}

const MAX_DEPTH = 5

/** Pino's own redaction parses its paths for every line: 80 µs, more than a small request takes. */
function withoutSecrets(entry: object, depth = 0): Record<string, unknown> {
  const clean: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(entry))
    clean[key] = SECRETS.has(key) ? '[redacted]' : valueWithoutSecrets(value, depth + 1)
  return clean
}

function valueWithoutSecrets(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error || 'toJSON' in value) return value
  if (depth > MAX_DEPTH) return '[too deep]'
  if (Array.isArray(value)) return value.map((each) => valueWithoutSecrets(each, depth + 1))
  return withoutSecrets(value, depth)
}

type SerialisedError = {
  type: string
  message: string
  stack?: string
  code?: unknown
  cause?: SerialisedError
  errors?: SerialisedError[]
}

const MAX_ERRORS = 10

/** Leaves out all other members: database drivers put row values into some of theirs. */
function describeError(error: unknown): SerialisedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { name, message, stack, cause } = error
  const { code } = error as NodeJS.ErrnoException
  return {
    type: name,
    message,
    stack,
    ...(code !== undefined && { code }),
    ...(cause !== undefined && cause !== error && { cause: describeError(cause) }),
    ...(error instanceof AggregateError && {
      errors: error.errors.slice(0, MAX_ERRORS).map(describeError),
    }),
  }
}

function terminalOf(output: NodeJS.WriteStream): DestinationStream | undefined {
  if (!output.isTTY) return undefined
  return { write: (line: string) => void output.write(readableLine(line)) }
}

type Entry = { time: string; level: number; name: string; msg?: string; err?: SerialisedError }

const WARN = 40

/** `12:00:01 identity  GET /api/users/{id} 200 3.1 ms`, then all other members as `key=value`. */
export function readableLine(line: string): string {
  const { time, level, name, msg, err, ...rest } = JSON.parse(line) as Entry &
    Record<string, unknown>
  const { pid, hostname, method, route, status, milliseconds, ...more } = rest
  const request = `${method} ${route} ${status} ${milliseconds} ms`
  const severity = level >= WARN ? [pino.levels.labels[level]?.toUpperCase()] : []
  const parts = [
    time.slice(11, 19),
    name.padEnd(12),
    ...severity,
    msg === 'request' && method !== undefined ? request : msg,
    ...Object.entries(more).map(([key, value]) => `${key}=${textOf(value)}`),
  ]
  return `${parts.join(' ')}\n${err ? stacksOf(err) : ''}`
}

function stacksOf({ stack, message, cause, errors = [] }: SerialisedError): string {
  const reasons = cause ? [cause, ...errors] : errors
  return [`${stack ?? message}\n`, ...reasons.map((each) => `Caused by: ${stacksOf(each)}`)].join(
    '',
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Redacts service keys anywhere in a line: their prefix identifies them. */
function withoutServiceKeys(line: string): string {
  return line.includes('plk_') ? line.replace(/plk_(live|test)_\w+/g, 'plk_$1_[redacted]') : line
}
