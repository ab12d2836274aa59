import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { countRoundTrips } from '@plinth/kit/testing'
import { engines, startStorage, upload } from './start-storage.ts'

const postgres = engines.find(({ name }) => name === 'postgres')

describe('round trips to PostgreSQL', { skip: postgres?.skip }, () => {
  for (const [what, env] of [
    ['an upload', {}],
    ['an upload with a quota', { STORAGE_FULL_USER_BYTES: '1GB', STORAGE_FULL_USER_FILES: '1000' }],
  ] as const)
    test(`of ${what} are two: one for the caller, one for the file`, async (t) => {
      const database = await countRoundTrips(t, (await postgres?.freshUrl(t)) ?? '')
      const settings = { STORAGE_FULL_DATABASE_URL: database.url, ...env }
      const { api, user } = await startStorage(t, settings)
      await upload(api, user)

      const trips = await database.fewestRoundTripsOf(async () => {
        assert.equal((await upload(api, user)).status, 201)
      })

      assert.equal(trips, 2)
    })
})
