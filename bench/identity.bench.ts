import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type BenchServer, compare, drive, type Row, startServer } from './harness.ts'
import { seededDatabase } from './identity-users.ts'

const ADMIN = { username: 'admin', password: 'password123123' }
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const SAMPLES = Math.max(10, Math.round(SECONDS * 20))
const WARM_UP = 20
const JSON_TYPE = { 'content-type': 'application/json' }

export default async function bench(): Promise<Row[]> {
  const rows = await withIdentity({}, async (identity) => [
    await ownProfile(identity),
    await loginsAgainstHashing(identity),
    ...(await profileDuringStorm(identity)),
    await equalWork(identity),
  ])
  return [...rows, ...(await growth())]
}

type Identity = { server: BenchServer; token: string }

async function withIdentity<T>(
  env: Record<string, string>,
  work: (identity: Identity) => Promise<T>,
): Promise<T> {
  const server = await startServer('services/identity/src/main.ts', 'IDENTITY_PORT', {
    IDENTITY_FAILURE_LIMIT: '1000000',
    ...env,
  })
  try {
    const { accessToken } = (await (await logIn(server, ADMIN)).json()) as { accessToken: string }
    return await work({ server, token: accessToken })
  } finally {
    await server.stop()
  }
}

const logIn = (server: BenchServer, credentials: object) =>
  fetch(`${server.url}/api/auth/login`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(credentials),
  })

const loginRequest = (credentials: object) => ({
  method: 'POST',
  path: '/api/auth/login',
  headers: JSON_TYPE,
  body: JSON.stringify(credentials),
})

const asCaller = (path: string, token: string) => ({
  path,
  headers: { authorization: `Bearer ${token}` },
})

function ownProfile({ server, token }: Identity): Promise<Row> {
  const me = asCaller('/api/users/me', token)
  return compare('identity: GET /api/users/me', server, me, { bar: 0.4 })
}

/**
 * A login is a hash and little else: the rest of it may cost a tenth at most. The two are measured
 * in turns, and the middle one of the ratios counts.
 */
async function loginsAgainstHashing({ server }: Identity): Promise<Row> {
  const program = join(import.meta.dirname, 'servers/hash-rate.ts')
  const turns = []
  while (turns.length < 3) {
    const { stdout } = await promisify(execFile)(process.execPath, [program, String(SECONDS)])
    const load = await drive(server, loginRequest(ADMIN), { connections: 8, seconds: SECONDS })
    turns.push({ load, bare: Number(stdout), ratio: load.requestsPerSecond / Number(stdout) })
  }
  const middle = turns.toSorted((a, b) => a.ratio - b.ratio)[1]
  if (!middle) throw new Error('There were no turns.')
  const { load, bare, ratio } = middle
  return {
    name: 'identity: logins against the bare hash rate',
    figure: `${load.requestsPerSecond.toFixed(1)} logins/s`,
    barePerSecond: bare,
    ratio,
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
    bar: '≥ 0.9',
    met: ratio >= 0.9,
  }
}

/** A hundred requests a second beside nothing, 64 and 200 clients that do nothing but log in. */
async function profileDuringStorm({ server, token }: Identity): Promise<Row[]> {
  const idle = percentiles(await probe(server, token, SECONDS))
  const rows: Row[] = [{ name: 'identity: GET /api/users/me, idle', ...idle }]
  for (const connections of [64, 200]) {
    const storm = drive(server, loginRequest(ADMIN), { connections, seconds: SECONDS + 1 })
    await wait(500)
    const busy = percentiles(await probe(server, token, SECONDS))
    await storm
    rows.push({
      name: `identity: GET /api/users/me, ${connections} clients logging in`,
      ...busy,
      bar: 'p99 ≤ 5 × idle, < 100 ms',
      met: busy.p99Ms <= 5 * idle.p99Ms && busy.p99Ms < 100,
    })
  }
  return rows
}

async function probe(server: BenchServer, token: string, seconds: number): Promise<number[]> {
  const headers = { authorization: `Bearer ${token}` }
  const times: number[] = []
  const until = performance.now() + seconds * 1000
  while (performance.now() < until) {
    times.push(await timed(() => fetch(`${server.url}/api/users/me`, { headers })))
    await wait(10)
  }
  return times
}

/** Unknown user, wrong password and disabled user, in turns, so that no moment favours one. */
async function equalWork({ server, token }: Identity): Promise<Row> {
  const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` }
  const disabled = { username: 'disabled', email: 'd@localhost', password: ADMIN.password }
  const send = (method: string, path: string, body: object) =>
    fetch(server.url + path, { method, headers, body: JSON.stringify(body) })
  const registered = await send('POST', '/api/auth/register', disabled)
  const { id } = (await registered.json()) as { id: number }
  await send('PATCH', `/api/users/${id}`, { enabled: false })
  const medians = await mediansInTurns(
    [
      { username: 'nobody', password: ADMIN.password },
      { username: 'user', password: 'a wrong password' },
      { username: 'disabled', password: ADMIN.password },
    ].map((credentials) => () => logIn(server, credentials)),
  )
  const spread = Math.max(...medians) / Math.min(...medians)
  return {
    name: 'identity: refused logins: unknown, wrong, disabled',
    figure: `${medians.map((median) => median.toFixed(1)).join(' · ')} ms`,
    ratio: spread,
    bar: '≤ 1.1',
    met: spread <= 1.1,
  }
}

/** The same requests on a thousand and on a million users, in turns, so that no moment favours one. */
async function growth(): Promise<Row[]> {
  return withUsers(1000, (few) =>
    withUsers(1_000_000, async (many) => {
      const rows: Row[] = []
      for (const what of ['login', 'page'] as const) {
        const [fewMs, manyMs] = await mediansInTurns([few[what], many[what]])
        rows.push(growthRow(what === 'login' ? 'login' : 'GET /api/users', fewMs, manyMs))
      }
      return rows
    }),
  )
}

type Sized = { login(): Promise<Response>; page(): Promise<Response> }

async function withUsers<T>(users: number, work: (sized: Sized) => Promise<T>): Promise<T> {
  const database = await seededDatabase(users)
  const env = { IDENTITY_DATABASE_URL: database.url, IDENTITY_MASTER_KEY: database.masterKey }
  try {
    return await withIdentity(env, ({ server, token }) =>
      work({
        login: () => logIn(server, { ...ADMIN, username: `user${users / 2}` }),
        page: () => fetch(`${server.url}/api/users`, asCaller('', token)),
      }),
    )
  } finally {
    database.remove()
  }
}

function growthRow(what: string, few = Number.NaN, many = Number.NaN): Row {
  return {
    name: `identity: ${what} with 1,000 and 1,000,000 users`,
    figure: `${few.toFixed(2)} · ${many.toFixed(2)} ms`,
    ratio: many / few,
    bar: '≤ 1.3',
    met: many / few <= 1.3,
  }
}

async function mediansInTurns(requests: (() => Promise<Response>)[]): Promise<number[]> {
  const times = requests.map((): number[] => [])
  for (let sample = -WARM_UP; sample < SAMPLES; sample += 1)
    for (const [index, request] of requests.entries()) {
      const took = await timed(request)
      if (sample >= 0) times[index]?.push(took)
    }
  return times.map((each) => percentiles(each).p50Ms)
}

async function timed(request: () => Promise<Response>): Promise<number> {
  const started = performance.now()
  await (await request()).arrayBuffer()
  return performance.now() - started
}

function percentiles(times: number[]): { p50Ms: number; p99Ms: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
