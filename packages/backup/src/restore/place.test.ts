import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pooled, postgres } from '@plinth/kit/testing'
import pg from 'pg'
import { placesOf } from './place.ts'

test('a schema that the role does not own is not moved aside, and the reason is given', {
  skip: postgres.skip || pooled,
}, async (t) => {
  const url = new URL(await postgres.freshUrl(t))
  const owner = new pg.Client({ connectionString: url.href })
  await owner.connect()
  const role = `guest_of_${url.pathname.slice(1)}`
  await owner.query(`create role "${role}" login password 'guest'`)
  await owner.query(`grant all on schema public to "${role}"`)
  t.after(async () => {
    await owner.query(`drop owned by "${role}"`)
    await owner.query(`drop role "${role}"`)
    await owner.end()
  })
  url.username = role
  url.password = 'guest'
  const database = { url: url.href, setting: 'IDENTITY_DATABASE_URL', migrations: [], sealed: {} }
  const [place] = placesOf({ name: 'identity', keys: {}, database })

  await assert.rejects(async () => place?.setAside('20261116'), {
    reason: 'refused',
    message:
      /^The database of identity cannot be moved aside: must be owner of schema public\. Use a role with that right, or restore to an empty database\.$/,
  })
  assert.equal(await place?.isEmpty(), true)
})
