import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pooled, postgres } from '@plinth/kit/testing'
import pg from 'pg'
import { until } from '../../../../test/until.ts'
import { isInUse } from './open.ts'

// A pooler keeps connections open and shares them between clients: see docs/postgres.md.
const skip = postgres.skip || pooled

test('a database is in use while a service is connected to it', { skip }, async (t) => {
  const url = await postgres.freshUrl(t)
  await connect(t, url, 'plinth')

  assert.equal(await isInUse(url), true)
})

test('waits for a service that is stopping', { skip }, async (t) => {
  const url = await postgres.freshUrl(t)
  const service = await connect(t, url, 'plinth')
  const operator = await connect(t, url, 'psql')

  const asking = isInUse(url)
  await until(() => hasChecked(operator), Boolean, 1)
  await service.end()

  assert.equal(await asking, false)
})

async function connect(t: TestContext, url: string, name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: name })
  await client.connect()
  t.after(() => client.end())
  return client
}

/** Whether the first check, which still saw the service, has finished. */
async function hasChecked(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_stat_activity where datname = current_database()
      and application_name = 'plinth-backup' and state = 'idle' and query like 'select pid%'`,
  )
  return rows.length > 0
}
