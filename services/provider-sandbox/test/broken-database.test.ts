import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { startSandbox } from './start-sandbox.ts'

/** A sandbox whose database a test can break through a second connection to its file. */
async function startBreakable(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'sandbox.db')
  const sandbox = await startSandbox(t, { SANDBOX_DATABASE_URL: `sqlite:${file}` })
  const database = new DatabaseSync(file)
  t.after(() => database.close())
  return { ...sandbox, database }
}

test('a call whose commit failed leaves its idempotency key free', async (t) => {
  const { api, stripe, database } = await startBreakable(t)
  const create = () =>
    api.request('POST', '/v1/customers', {
      token: 'sk_test_x',
      headers: { 'idempotency-key': 'k1', 'content-type': 'application/x-www-form-urlencoded' },
      body: 'name=Jenny',
    })

  // A deferred constraint is checked by the commit, after every statement has succeeded.
  database.exec(`
    create table missing (id integer primary key);
    create table broken (id integer references missing (id) deferrable initially deferred);
    create trigger break_commit after insert on objects begin insert into broken values (1); end`)
  const failed = await create()
  database.exec('drop trigger break_commit')
  const again = await create()

  assert.equal(failed.status, 500)
  assert.equal(again.status, 200)
  assert.equal(again.headers.get('idempotent-replayed'), null)
  assert.equal((await stripe.customers.list()).data.length, 1)
})

test('a scenario that the database cannot store is not blamed on its sender', async (t) => {
  const { api, database } = await startBreakable(t)
  const { body: scenario } = await api.get('/sandbox/api/scenario')
  const tables = { ...scenario.tables, values: [{ name: 'a', value: '1' }] }

  database.exec(`create trigger break_insert before insert on "values"
    begin select raise(abort, 'the disk is full'); end`)
  const refused = await api.put('/sandbox/api/scenario', { plinthSandbox: 1, tables })

  assert.equal(refused.status, 500)
})
