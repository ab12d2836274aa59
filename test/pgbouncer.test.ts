import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { type Db, inTransaction, openDatabase, prepared } from '@plinth/kit'
import { sql } from 'kysely'
import { postgres } from '../packages/kit/testing/databases/engines.ts'
import { startPostgres } from '../packages/kit/testing/databases/postgres.ts'
import { preloads } from '../packages/kit/testing/processes/spawn.ts'
import { type PgBouncer, pgBouncerMissing, startPgBouncer } from './servers/pgbouncer.ts'

const ROOT = join(import.meta.dirname, '..')

type Suites = { about: string; files: string[]; only?: string; except?: string }

/** Some of `npm test -- --pgbouncer`: those in which connections and transactions matter most. */
const SUITES: Suites[] = [
  {
    about: 'migrations and leases of several nodes, races, payments that meet faults',
    files: [
      'packages/kit/src/database/transaction.test.ts',
      'packages/kit/src/database/database.test.ts',
      'packages/kit/src/database/leases/leases.test.ts',
      'services/identity/test/races.test.ts',
      'services/identity/test/refresh.test.ts',
      'services/storage-full/test/quotas.test.ts',
      'services/payments/test/scenarios-events.test.ts',
      'services/payments/test/scenarios-nodes.test.ts',
    ],
  },
  {
    about: 'a storage that is killed at a step that the database takes part in',
    files: ['services/storage-full/test/crash-matrix-postgres.test.ts'],
    only: 'files at LOCAL',
    except: 'large|upload:|publish:|thumbnail:read|thumbnail:put',
  },
  {
    about: 'a webhook that is killed in its transaction, and delivered again at once',
    files: ['services/payments/test/crash.test.ts'],
    only: 'a webhook killed on postgres',
  },
]

describe('through PgBouncer in transaction mode', {
  skip: postgres.skip || (await pgBouncerMissing()),
}, () => {
  let env: Record<string, string>
  let pgBouncer: PgBouncer
  let url: string
  const cleanups: (() => Promise<void>)[] = []
  before(async () => {
    const server = await startPostgres()
    cleanups.push(() => server.stop())
    const scope = { after: (cleanup: () => Promise<void>) => void cleanups.unshift(cleanup) }
    pgBouncer = await startPgBouncer(scope, server.url)
    const { host } = pgBouncer
    url = Object.assign(new URL(server.url), { host }).href
    env = { TEST_POSTGRES_URL: server.url, TEST_POSTGRES_POOLER: host }
  })
  after(async () => {
    for (const cleanup of cleanups) await cleanup()
  })

  test('a named statement works on another connection to the server, too', async (t) => {
    const { db, close } = await openDatabase<Tables>(url, [], { poolSize: 1 })
    const other = await openDatabase<Tables>(url, [], { poolSize: 1 })
    t.after(() => Promise.all([close(), other.close()]))
    await byName(db, { name: 'plinth' })

    const [found, { rows: named }] = await inTransaction(other.db, async (holding) => {
      // From here on it has the connection on which the statement got its name.
      await sql`select 1`.execute(holding)
      return [
        await byName(db, { name: 'plinth' }),
        await sql`select from pg_prepared_statements`.execute(db),
      ]
    })

    assert.deepEqual(found, [{ rolname: 'plinth' }])
    assert.equal(named.length, pgBouncer.knowsNames ? 1 : 0)
  })

  for (const suites of SUITES)
    test(`${suites.about}: all pass`, async () => {
      const { code, output } = await runSuites(suites, env)

      assert.match(output, /^# pass [1-9]/m)
      assert.equal(code, 0, output)
    })
})

type Tables = { pg_roles: { rolname: string } }

const byName = prepared((db: Db<Tables>, { name }: { name: string }) =>
  db.selectFrom('pg_roles').select('rolname').where('rolname', '=', name),
)

async function runSuites(
  { files, only, except }: Suites,
  env: Record<string, string>,
): Promise<{ code: number; output: string }> {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env
  // Of several files Node ignores those that it does not find.
  for (const file of files) assert.ok(existsSync(join(ROOT, file)), file)
  const flags = [...preloads(), '--test', '--test-reporter=tap']
  if (files.length > 1) flags.push('--test-isolation=none')
  if (only) flags.push(`--test-name-pattern=${only}`)
  if (except) flags.push(`--test-skip-pattern=${except}`)
  const child = spawn(process.execPath, [...flags, ...files], {
    cwd: ROOT,
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { code, output }
}
