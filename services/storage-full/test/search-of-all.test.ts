import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countRoundTrips, postgres } from '@plinth/kit/testing'
import { register, startStorage, upload } from './start-storage.ts'

test(
  "an administrator's search for a word takes no more round trips when there are more owners",
  postgres.options,
  async (t) => {
    const database = await countRoundTrips(t, await postgres.freshUrl(t))
    const { api, admin, user } = await startStorage(t, { STORAGE_FULL_DATABASE_URL: database.url })
    const found = async () =>
      (await api.get('/file/search?q=invoice', { token: admin })).body.content.length
    const roundTrips = () => database.fewestRoundTripsOf(found)
    await upload(api, user, { name: 'invoice.png' })
    const withOne = await roundTrips()

    for (const name of ['ada', 'bob', 'eve'])
      await upload(api, await register(api, name), { name: `invoice of ${name}.png` })

    assert.equal(await found(), 4)
    assert.equal(await roundTrips(), withOne)
  },
)
