import { durableInsertsPerSecond } from '../baselines/durable-inserts.ts'
import { type BenchRequest, drive } from '../harness/compare.ts'
import type { Row } from '../harness/row.ts'
import { type BenchServer, startServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { ADMIN, type Identity, logIn, withIdentity } from '../identity/service.ts'
import type { DatabaseNamed } from './databases.ts'
import { rateAgainst } from './rates.ts'
import { refreshesPerSecond } from './refreshes.ts'

const SESSIONS = 32
const MIN_OF_INSERTS = 0.1

/** Authenticated requests and refreshes at identity. */
export async function sessions(databaseNamed: DatabaseNamed): Promise<Row[]> {
  const url = await databaseNamed('identity')
  const inserts = await databaseNamed('bare_sessions')
  const bare = await startBareTurns(await databaseNamed('bare_turns'))
  const rows = (ours: Identity) =>
    withIdentity(async (sqlite) => [
      ...(await callerRows(ours, sqlite, bare)),
      ...(await refreshRows(ours, sqlite, inserts)),
    ])
  return withIdentity(rows, { IDENTITY_DATABASE_URL: url }).finally(bare.stop)
}

/** `node:http` with one query for all requests of a turn of the event loop. */
export function startBareTurns(url: string): Promise<BenchServer> {
  return startServer('bench/baselines/bare-turns.ts', 'BARE_PORT', { BARE_DATABASE_URL: url })
}

async function callerRows(ours: Identity, sqlite: Identity, bare: { url: string }): Promise<Row[]> {
  const own = await rateAgainst(
    'GET /api/users/me on PostgreSQL, against node:http with one query per turn',
    meRate(ours),
    requestRate(bare, { path: '/' }),
    0.5,
  )
  const both = await rateAgainst('the same, against SQLite', meRate(ours), meRate(sqlite))
  return [own, both]
}

export function meRate({ server, token }: Identity): () => Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return requestRate(server, { path: '/api/users/me', headers })
}

export function requestRate(server: { url: string }, request: BenchRequest) {
  return async () => (await drive(server, request)).requestsPerSecond
}

async function refreshRows(ours: Identity, sqlite: Identity, bare: string): Promise<Row[]> {
  const [own, other] = [await refreshRate(ours), await refreshRate(sqlite)]
  const inserts = () => durableInsertsPerSecond(bare, 'x'.repeat(300), SECONDS)
  const against = 'the same, against durable inserts over 10 connections'
  return [
    await rateAgainst('refreshes on PostgreSQL, against SQLite', own, other),
    await rateAgainst(against, own, inserts, MIN_OF_INSERTS),
  ]
}

async function refreshRate({ server }: Identity): Promise<() => Promise<number>> {
  const tokens: string[] = []
  while (tokens.length < SESSIONS) {
    const pair = (await (await logIn(server, ADMIN)).json()) as { refreshToken: string }
    tokens.push(pair.refreshToken)
  }
  return () => refreshesPerSecond(server.url, tokens, SECONDS)
}
