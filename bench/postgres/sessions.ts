import { type BenchRequest, drive } from '../harness/compare.ts'
import { atLeast, perSecond, type Row } from '../harness/row.ts'
import { startServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { ADMIN, type Identity, logIn, withIdentity } from '../identity/service.ts'
import type { DatabaseNamed } from './databases.ts'
import { rateAgainst } from './rates.ts'
import { refreshesPerSecond } from './refreshes.ts'

const SESSIONS = 32
const REFRESHES = 1000

/** Callers and refreshes at identity. */
export async function sessions(databaseNamed: DatabaseNamed): Promise<Row[]> {
  const url = await databaseNamed('identity')
  const bare = await startServer('bench/baselines/bare-turns.ts', 'BARE_PORT', {
    BARE_DATABASE_URL: await databaseNamed('bare_turns'),
  })
  const rows = (ours: Identity) => withIdentity((sqlite) => rowsOf(ours, sqlite, bare))
  return withIdentity(rows, { IDENTITY_DATABASE_URL: url }).finally(bare.stop)
}

async function rowsOf(ours: Identity, sqlite: Identity, bare: { url: string }): Promise<Row[]> {
  const own = await rateAgainst(
    'GET /api/users/me on PostgreSQL, against node:http with one query per turn',
    meRate(ours),
    requestRate(bare, { path: '/' }),
    0.5,
  )
  const both = await rateAgainst('the same, against SQLite', meRate(ours), meRate(sqlite))
  return [own, both, ...(await refreshRows(ours, sqlite))]
}

export function meRate({ server, token }: Identity): () => Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return requestRate(server, { path: '/api/users/me', headers })
}

export function requestRate(server: { url: string }, request: BenchRequest) {
  return async () => (await drive(server, request)).requestsPerSecond
}

async function refreshRows(ours: Identity, sqlite: Identity): Promise<Row[]> {
  const [own, other] = [await refreshRate(ours), await refreshRate(sqlite)]
  const row = await rateAgainst('refreshes on PostgreSQL, against SQLite', own, other)
  const rate = await own()
  const alone = { what: 'refreshes on PostgreSQL', ours: perSecond(rate) }
  return [row, { ...alone, ...atLeast(REFRESHES, rate) }]
}

async function refreshRate({ server }: Identity): Promise<() => Promise<number>> {
  const tokens: string[] = []
  while (tokens.length < SESSIONS) {
    const pair = (await (await logIn(server, ADMIN)).json()) as { refreshToken: string }
    tokens.push(pair.refreshToken)
  }
  return () => refreshesPerSecond(server.url, tokens, SECONDS)
}
