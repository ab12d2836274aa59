/**
 * What the OpenID provider costs. Compares CPU time per request, because most of it is signing, and other work on
 * the machine shows in elapsed time at once.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { atLeast, type Row } from '../harness/row.ts'
import { openClient } from './client.ts'
import { inTurns, requestsOf } from './openid-requests.ts'
import { ADMIN, withIdentity } from './service.ts'

const PAIRS = 128

export function openid(): Promise<Row[]> {
  return withIdentity(async ({ server }) => {
    const { login: _, ...requests } = await requestsOf(server, await openClient(server, ADMIN))
    const spent = await inTurns({ ...requests, signing: signaturesMs })
    const row = (what: string, ours: number, baseline: number, bar?: number): Row => ({
      what: `processor time of ${what}`,
      ours: `${ours.toFixed(3)} ms`,
      baseline: `${baseline.toFixed(3)} ms`,
      ratio: baseline / ours,
      ...(bar !== undefined && atLeast(bar, baseline / ours)),
    })
    const { exchange, signing, refresh, refreshWithId, ownRefresh, userInfo, authorize, me } = spent
    return [
      row('a code exchange, against signing RS256 and ES256 alone', exchange, signing, 0.4),
      row('a refresh of a client, against /api/auth/refresh', refresh, ownRefresh, 0.8),
      row('the same with an ID token', refreshWithId, ownRefresh),
      row('userinfo, against GET /api/users/me', userInfo, me, 0.9),
      row('authorize in a signed-in browser, against GET /api/users/me', authorize, me, 0.35),
    ]
  })
}

async function signaturesMs(): Promise<number> {
  const program = join(import.meta.dirname, '../baselines/signatures.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, String(PAIRS)])
  return Number(stdout)
}
