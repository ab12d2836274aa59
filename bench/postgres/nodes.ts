import { randomBytes } from 'node:crypto'
import { atLeast, perSecond, type Row } from '../harness/row.ts'
import { middleTurn, quotient } from '../harness/turns.ts'
import { type Identity, withIdentity } from '../identity/service.ts'
import type { DatabaseNamed } from './databases.ts'
import { meRate } from './sessions.ts'
import { holdToShare } from './shares.ts'

/** A share of one core, so that two nodes, PostgreSQL and the driver fit on two cores. */
const SHARE = 0.2
const TURNS = 3
const BAR = 1.7
const WHAT = `GET /api/users/me at two nodes, each with ${SHARE} of a core, against one`

/** Two nodes of identity on one database against one node, each limited to the same share of a core. */
export async function nodes(databaseNamed: DatabaseNamed): Promise<Row[]> {
  const env = {
    IDENTITY_DATABASE_URL: await databaseNamed('nodes'),
    IDENTITY_MASTER_KEY: randomBytes(32).toString('base64'),
  }
  return withIdentity((first) => withIdentity((second) => rowsOf(first, second), env), env)
}

async function rowsOf(first: Identity, second: Identity): Promise<Row[]> {
  const releases: (() => void)[] = []
  try {
    for (const { server } of [first, second]) releases.push(holdToShare(server.pid, SHARE))
  } catch (error) {
    for (const release of releases) release()
    return [{ what: `${WHAT}: not on this machine (${(error as Error).message})`, ours: '' }]
  }
  const [one, two] = [meRate(first), meRate(second)]
  await Promise.all([one(), two()])
  const { ours, baseline, ratio } = await middleTurn(TURNS, {
    ours: async () => (await Promise.all([one(), two()])).reduce((sum, rate) => sum + rate),
    baseline: one,
    ratio: quotient,
    bar: BAR,
  })
  for (const release of releases) release()
  const row = { what: WHAT, ours: perSecond(ours), baseline: perSecond(baseline), ratio }
  return [{ ...row, ...atLeast(BAR, ratio) }]
}
