import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { drive } from '../harness/compare.ts'
import { mediansInTurns } from '../harness/latency.ts'
import { atLeast, atMost, perSecond, type Row } from '../harness/row.ts'
import { startServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { middleTurn } from '../harness/turns.ts'
import { ADMIN, type Identity, JSON_TYPE, logIn, loginRequest, withIdentity } from './service.ts'

const CLIENTS = 8
const MIN_OF_HASHING = 0.9

export function logins(): Promise<Row[]> {
  return withIdentity(async (identity) => [
    await againstHashing(identity),
    await equalWork(identity),
    await againstNoGate(identity),
  ])
}

/** A login is mostly hashing: the rest may cost at most a tenth. */
async function againstHashing({ server }: Identity): Promise<Row> {
  const program = join(import.meta.dirname, '../baselines/hash-rate.ts')
  const { ours, baseline, ratio } = await middleTurn(3, {
    ours: () => drive(server, loginRequest(ADMIN), { connections: CLIENTS }),
    baseline: async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [program, String(SECONDS)])
      return Number(stdout)
    },
    ratio: ({ requestsPerSecond }, hashes) => requestsPerSecond / hashes,
    bar: MIN_OF_HASHING,
  })
  return {
    what: 'logins, against hashing alone',
    ours: perSecond(ours.requestsPerSecond),
    baseline: perSecond(baseline),
    ratio,
    ...atLeast(MIN_OF_HASHING, ratio),
    p50Ms: ours.p50Ms,
    p99Ms: ours.p99Ms,
  }
}

/** Storage uses the same accounts package, but never asks for a second factor. */
async function againstNoGate({ server }: Identity): Promise<Row> {
  const storage = await startServer('services/storage-full/src/main.ts', 'STORAGE_FULL_PORT')
  try {
    const user = { ...ADMIN, username: 'user' }
    const [gated = 0, bare = 0] = await mediansInTurns(
      [server, storage].map((each) => () => logIn(each, user)),
    )
    return {
      what: 'login without a second factor, against storage, which has no such gate',
      ours: `${gated.toFixed(2)} ms`,
      baseline: `${bare.toFixed(2)} ms`,
      ratio: gated / bare,
      ...atMost(1.03, gated / bare),
    }
  } finally {
    await storage.stop()
  }
}

/** Unknown user, wrong password and disabled user must not be distinguishable by timing. */
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
      { username: 'unknown', password: ADMIN.password },
      { username: 'user', password: 'a wrong password' },
      { username: 'disabled', password: ADMIN.password },
    ].map((credentials) => () => logIn(server, credentials)),
  )
  const spread = Math.max(...medians) / Math.min(...medians)
  return {
    what: 'refused logins: unknown, wrong, disabled; slowest to fastest',
    ours: `${medians.map((median) => median.toFixed(1)).join(' · ')} ms`,
    ratio: spread,
    ...atMost(1.1, spread),
  }
}
