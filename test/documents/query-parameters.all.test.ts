import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { startStack } from '../../launcher/stack/stack.ts'
import { testEnv } from '../../launcher/test/test-env.ts'
import { until } from '../until.ts'
import { openApiDocuments } from './openapi.ts'

type Schema = {
  type?: string
  enum?: (string | number)[]
  pattern?: string
  format?: string
  maxLength?: number
  minimum?: number
  maximum?: number
  examples?: unknown[]
  items?: Schema
  anyOf?: Schema[]
}
type Parameter = { $ref?: string; in: string; name: string; schema: Schema; description?: string }
type ApiDocument = {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>
  components: { parameters?: Record<string, Parameter> }
}
type Probe = { service: string; method: string; path: string; parameter: Parameter }

/** What people and programs send: ordinary, empty, at a limit, of another type, and hostile values. */
const POOL = [
  '',
  ' ',
  'a',
  'true',
  'TRUE',
  'null',
  '0',
  '1',
  '-1',
  '+1',
  '1.5',
  '1e3',
  '99',
  '100',
  '101',
  '1999',
  '2000',
  '2001',
  '9007199254740993',
  '99999999999999999999',
  'NaN',
  'en',
  'asc',
  'desc',
  'pending',
  'id',
  'id,asc',
  'id,DESC',
  'id,sideways',
  'createdAt,desc',
  ' createdAt , desc ',
  'password,asc',
  'PROCESSED',
  'checkout.session.completed',
  'ROLE_USER',
  'ROLE_ROOT',
  'LOGIN',
  'login',
  '2030-01-01',
  '2030-02-30',
  '2030-13-01',
  '2030-01-01T12:00:00Z',
  '2030-01-01T12:00:00.123Z',
  '2030-01-01T24:00:00Z',
  '2030-01-01T12:00:60Z',
  '2030-01-01T12:00:00+01:00',
  'ada@example.com',
  'é😀',
  '%',
  "' or 1=1 --",
  '\n',
  '\u0000',
  'a\u0000b',
  'x'.repeat(40),
  'x'.repeat(41),
  'x'.repeat(254),
  'x'.repeat(255),
  'x'.repeat(1000),
  'x'.repeat(1001),
]

const ID = '999999'
/** Both ends of each connection are in this process, which may be allowed only 1,024 open files. */
const AT_ONCE = 16

describe('the query parameters of the API documents', () => {
  test('accept every value that the document allows, and refuse every other', async (t) => {
    const ask = await start(t)
    const probes = Object.entries(await openApiDocuments()).flatMap(([service, text]) =>
      probesOf(service, JSON.parse(text)),
    )
    assert.ok(probes.length > 50)

    const faults: string[] = []
    const check = async (probe: Probe, value: string) => {
      // Few streams may be open at a time, and those that were left close a moment later.
      const status = await until(
        () => ask(probe, value),
        (answered) => !probe.path.endsWith('/stream') || ![429, 503].includes(answered),
      )
      if (!agree(probe, value, status)) faults.push(faultOf(probe, value, status))
    }
    for (const probe of probes) {
      const values = valuesFor(probe.parameter)
      while (values.length > 0)
        await Promise.all(values.splice(0, AT_ONCE).map((value) => check(probe, value)))
    }

    assert.deepEqual(faults, [])
  })
})

/** A registered client, a preset of the settings, or the form of an upload decides what is right. */
function isDecidedElsewhere({ method, path, parameter: { name } }: Probe): boolean {
  if (method === 'post' && path === '/file') return true
  return /^\/oauth2\/(authorize|logout)/.test(path) || (isPicture(path) && name === 'preset')
}

function isPicture(path: string): boolean {
  return /\/picture(\/|$)/.test(path)
}

/** A picture needs a side, and `cover` both; a folder to delete its path. */
function othersFor({ path, parameter: { name } }: Probe): Record<string, string> {
  if (path === '/file/folders' && name === 'recursive') return { path: '/none' }
  if (!isPicture(path) || name === 'preset') return {}
  return { width: '64', height: '64' }
}

function agree(probe: Probe, value: string, status: number): boolean {
  const { parameter } = probe
  if (status >= 500) return false
  if (isDecidedElsewhere(probe)) return true
  // A parameter without a value may count as one that is not there.
  if (value === '') return true
  if (isAllowed(parameter.schema, value)) return status !== 400 || isCursor(parameter)
  return status === 400 || isForgiving(parameter)
}

function faultOf(
  { service, method, path, parameter: { name, schema } }: Probe,
  value: string,
  status: number,
): string {
  const shown = JSON.stringify(value.length > 60 ? `${value.length} characters` : value)
  const said = isAllowed(schema, value) ? 'allowed' : 'not allowed'
  return `${service} ${method} ${path} ${name}=${shown}: ${said}, ${status}`
}

function probesOf(service: string, { paths, components }: ApiDocument): Probe[] {
  const resolve = (parameter: Parameter): Parameter =>
    components.parameters?.[parameter.$ref?.split('/').at(-1) ?? ''] ?? parameter
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
      parameters
        .map(resolve)
        .filter((parameter) => parameter.in === 'query')
        .map((parameter) => ({ service, method, path, parameter })),
    ),
  )
}

/** The pool, and what the document itself names. */
function valuesFor({ schema }: Parameter): string[] {
  const { maxLength, minimum, maximum, examples = [], enum: words = [] } = schema.items ?? schema
  const limits = maxLength === undefined ? [] : ['x'.repeat(maxLength), 'x'.repeat(maxLength + 1)]
  const numbers = [minimum, maximum].flatMap((bound) =>
    bound === undefined ? [] : [bound - 1, bound, bound + 1],
  )
  return [...new Set([...POOL, ...limits, ...[...numbers, ...words, ...examples].map(String)])]
}

function isAllowed(schema: Schema, value: string): boolean {
  if (schema.anyOf) return schema.anyOf.some((one) => isAllowed(one, value))
  const { type, pattern, format, maxLength = Infinity, enum: words } = schema.items ?? schema
  if (type === 'integer') return /^-?\d+$/.test(value) && isOneOf(schema.items ?? schema, value)
  return (
    [...value].length <= maxLength &&
    (words === undefined || words.includes(value)) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(value)) &&
    (format !== 'date-time' || isMoment(value)) &&
    (format !== 'date' || (value.length === 10 && isMoment(`${value}T00:00:00Z`)))
  )
}

function isOneOf({ minimum, maximum, enum: numbers }: Schema, value: string): boolean {
  const number = Number(value)
  const isWithin = number >= (minimum ?? -Infinity) && number <= (maximum ?? Infinity)
  return isWithin && (numbers === undefined || numbers.map(String).includes(value))
}

/** RFC 3339 has no hour 24. */
function isMoment(value: string): boolean {
  const date = new Date(value)
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 19) === value.slice(0, 19)
}

/** A number of a page that is none counts as the default; the document says so in words. */
function isForgiving({ schema, description = '' }: Parameter): boolean {
  return schema.type === 'integer' && /anything else/i.test(description)
}

/** Only the service knows which of its own marks exist. */
function isCursor({ name }: Parameter): boolean {
  return name === 'after' || name === 'cursor'
}

async function start(t: TestContext) {
  const { env } = await testEnv(t, { STORAGE_KEY_DATABASE_URL: 'sqlite::memory:' })
  const stack = await startStack({ env })
  t.after(() => stack.close())
  const urls = Object.fromEntries(stack.services.map(({ entry, url }) => [entry.name, url]))
  const tokens: Record<string, string> = {}
  for (const name of ['identity', 'storage-full']) {
    const reply = await fetch(`${urls[name]}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'admin', password: 'password123123' }),
    })
    tokens[name] = ((await reply.json()) as { accessToken: string }).accessToken
  }
  return async (probe: Probe, value: string): Promise<number> => {
    const { service, method, path, parameter } = probe
    const query = new URLSearchParams({ ...othersFor(probe), [parameter.name]: value })
    const url = `${urls[service]}${path.replaceAll(/\{\w+\}/g, ID)}?${query}`
    const headers = {
      'x-api-key': 'storage-local-dev-key',
      ...(tokens[service] && { authorization: `Bearer ${tokens[service]}` }),
    }
    const leave = new AbortController()
    const { status } = await fetch(url, {
      method: method.toUpperCase(),
      headers,
      signal: leave.signal,
    })
    // A stream would never end.
    leave.abort()
    return status
  }
}
