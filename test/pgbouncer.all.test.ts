import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, describe, test } from 'node:test'
import { type Db, inTransaction, openDatabase, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import { postgres } from '../packages/kit/testing/databases/engines.ts'
import { startPostgres } from '../packages/kit/testing/databases/postgres.ts'
import { preloads } from '../packages/kit/testing/processes/spawn.ts'
import { pgBouncerMissing, startPgBouncer } from './servers/pgbouncer.ts'
import { suiteCleanup } from './suite-cleanup.ts'

const ROOT = join(import.meta.dirname, '..')

type Suite = { file: string; only?: string; except?: string }

/**
 * The tests that depend most on connections: migrations and leases of several
 * nodes, races, killed services, and faults during payments.
 */
const SUITES: Suite[] = [
  { file: 'packages/kit/src/database/transaction.test.ts' },
  { file: 'packages/kit/src/database/database.test.ts' },
  { file: 'packages/kit/src/database/online-update.test.ts' },
  { file: 'packages/kit/src/database/leases/leases.test.ts' },
  { file: 'services/identity/test/races.test.ts' },
  { file: 'services/identity/test/refresh.test.ts' },
  { file: 'services/storage-full/test/quotas.test.ts' },
  // Only those steps of an upload that involve the database.
  {
    file: 'services/storage-full/test/crash-matrix-postgres.all.test.ts',
    only: 'files at LOCAL',
    except: 'large|upload:|publish:|thumbnail:read|thumbnail:put',
  },
  // Killed in the middle of a transaction, and redelivered immediately.
  { file: 'services/payments/test/crash.test.ts', only: 'a webhook killed on postgres' },
  { file: 'services/payments/test/scenarios-events.test.ts' },
  { file: 'services/payments/test/scenarios-nodes.test.ts' },
]

describe('through PgBouncer in transaction mode', {
  skip: postgres.skip || (await pgBouncerMissing()),
}, () => {
  let env: Record<string, string>
  let url: string
  const scope = suiteCleanup()
  before(async () => {
    const server = await startPostgres()
    scope.after(() => server.stop())
    const { host } = await startPgBouncer(scope, server.url)
    url = Object.assign(new URL(server.url), { host }).href
    env = { TEST_POSTGRES_URL: server.url, TEST_POSTGRES_POOLER: host }
  })

  for (const [what, withNames] of [
    ['one that supports names', true],
    ['one that does not, which is noticed', false],
  ] as const)
    test(`a named statement also works on another server connection, of ${what}`, async (t) => {
      const pooler = await startPgBouncer(t, env.TEST_POSTGRES_URL ?? '', { withNames })
      const behind = Object.assign(new URL(url), { host: pooler.host }).href
      const { db, close } = await openDatabase<Tables>(behind, [], { poolSize: 1 })
      const other = await openDatabase<Tables>(behind, [], { poolSize: 1 })
      t.after(() => Promise.all([close(), other.close()]))
      await byName(db, { name: 'plinth' })

      const [found, { rows: named }] = await inTransaction(other.db, async (holding) => {
        // From here on, this transaction holds the connection on which the statement was prepared.
        await sql`select 1`.execute(holding)
        return [
          await byName(db, { name: 'plinth' }),
          await sql`select from pg_prepared_statements`.execute(db),
        ]
      })

      assert.deepEqual(found, [{ rolname: 'plinth' }])
      assert.equal(named.length, pooler.knowsNames ? 1 : 0)
    })

  for (const suite of SUITES)
    test(`${suite.file} passes`, async () => {
      const { code, output } = await runSuite(suite, env)

      assert.match(output, /^# pass [1-9]/m)
      assert.equal(code, 0, output)
    })
})

type Tables = { pg_roles: { rolname: string } }

const byName = prepared((db: Db<Tables>, { name }: { name: string }) =>
  db.selectFrom('pg_roles').select('rolname').where('rolname', '=', name),
)

async function runSuite(
  { file, only, except }: Suite,
  env: Record<string, string>,
): Promise<{ code: number; output: string }> {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env
  const flags = [...preloads(), '--test', '--test-reporter=tap']
  if (only) flags.push(`--test-name-pattern=${only}`)
  if (except) flags.push(`--test-skip-pattern=${except}`)
  const child = spawn(process.execPath, [...flags, file], {
    cwd: ROOT,
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { code, output }
}
