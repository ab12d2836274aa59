import { setTimeout as wait } from 'node:timers/promises'
import { compare, drive } from '../harness/compare.ts'
import { percentiles, sampled } from '../harness/latency.ts'
import type { Row } from '../harness/row.ts'
import { SECONDS } from '../harness/settings.ts'
import { ADMIN, type Identity, loginRequest, withIdentity } from './service.ts'

const PATH = '/api/users/me'
const MAX_MS = 100
const TIMES_IDLE = 5

export function profile(): Promise<Row[]> {
  return withIdentity(async (identity) => {
    const own = { path: PATH, headers: authorization(identity) }
    return [
      await compare(`GET ${PATH}, against node:http`, identity.server, own, { bar: 0.5 }),
      ...(await duringStorm(identity)),
    ]
  })
}

/** A hundred requests per second: idle, and while 64 and 200 clients do nothing but log in. */
async function duringStorm(identity: Identity): Promise<Row[]> {
  const idle = percentiles(await probe(identity))
  const rows: Row[] = [{ what: `GET ${PATH}, idle`, ours: '', ...idle }]
  for (const connections of [64, 200]) {
    const options = { connections, seconds: SECONDS + 1, mayRefuse: true }
    const storm = drive(identity.server, loginRequest(ADMIN), options)
    await wait(500)
    const busy = percentiles(await probe(identity))
    await storm
    rows.push({
      what: `GET ${PATH}, ${connections} clients logging in`,
      ours: '',
      ...busy,
      bar: `p99 ≤ ${TIMES_IDLE} × idle, < ${MAX_MS} ms`,
      met: busy.p99Ms <= TIMES_IDLE * idle.p99Ms && busy.p99Ms < MAX_MS,
    })
  }
  return rows
}

function probe(identity: Identity): Promise<number[]> {
  const headers = authorization(identity)
  return sampled(() => fetch(identity.server.url + PATH, { headers }))
}

function authorization({ token }: Identity): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}
