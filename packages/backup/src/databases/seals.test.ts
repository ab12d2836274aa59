import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sealText } from '@plinth/kit/tokens'
import { sealsOf } from './seals.repository.ts'

test('reports whether the key sealed any value, and which other key did', async () => {
  const [own, other] = [randomBytes(32), randomBytes(32)]
  const db = new DatabaseSync(':memory:')
  db.exec('create table event_endpoints (secret text)')
  const insert = db.prepare('insert into event_endpoints values (?)')
  const seals = () =>
    sealsOf(async (sql) => db.prepare(sql).all(), own, { event_endpoints: { secret: true } })

  insert.run('')
  assert.deepEqual(await seals(), { hasOwn: false, foreign: undefined })
  insert.run(String(sealText(other, 'secret', 'x')))
  const { hasOwn, foreign } = await seals()
  assert.equal(hasOwn, false)
  assert.match(foreign ?? '', /^Sealed with key /)
  insert.run(String(sealText(own, 'secret', 'x')))
  assert.deepEqual(await seals(), { hasOwn: true, foreign })
})
