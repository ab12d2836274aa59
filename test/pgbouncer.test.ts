import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { engines } from '../packages/kit/testing/databases/engines.ts'
import { startPostgres } from '../packages/kit/testing/databases/postgres.ts'
import { pgBouncerMissing, startPgBouncer } from './servers/pgbouncer.ts'

const ROOT = join(import.meta.dirname, '..')

/** Migrations and leases of several nodes, races, and payments that meet faults. */
const SUITES = [
  'packages/kit/src/database/transaction.test.ts',
  'packages/kit/src/database/database.test.ts',
  'packages/kit/src/database/leases/leases.test.ts',
  'services/identity/test/races.test.ts',
  'services/identity/test/refresh.test.ts',
  'services/storage-full/test/quotas.test.ts',
  'services/payments/test/scenarios-events.test.ts',
  'services/payments/test/scenarios-nodes.test.ts',
]

const postgres = engines.find(({ name }) => name === 'postgres')

describe('through PgBouncer in transaction mode', {
  skip: postgres?.skip || (await pgBouncerMissing()),
}, () => {
  let env: Record<string, string>
  const cleanups: (() => Promise<void>)[] = []
  before(async () => {
    const server = await startPostgres()
    cleanups.push(() => server.stop())
    const scope = { after: (cleanup: () => Promise<void>) => void cleanups.unshift(cleanup) }
    const { host } = await startPgBouncer(scope, server.url)
    env = { TEST_POSTGRES_URL: server.url, TEST_POSTGRES_POOLER: host }
  })
  after(async () => {
    for (const cleanup of cleanups) await cleanup()
  })

  for (const suite of SUITES)
    test(`${suite} passes`, async () => {
      const { code, output } = await runSuite(suite, env)

      assert.match(output, /^# pass [1-9]/m)
      assert.equal(code, 0, output)
    })
})

async function runSuite(file: string, env: Record<string, string>) {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env
  const flags = ['--test', '--test-reporter=tap', '--test-name-pattern=postgres']
  const child = spawn(process.execPath, [...flags, file], {
    cwd: ROOT,
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { code, output }
}
