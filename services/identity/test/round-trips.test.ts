import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { countRoundTrips } from '@plinth/kit/testing'
import { ALICE, engines, startWithAlice } from './start-identity.ts'

const postgres = engines.find(({ name }) => name === 'postgres')

/** Identity whose database connections are already open, as after a few requests. */
async function startCounted(t: TestContext) {
  const database = await countRoundTrips(t, (await postgres?.freshUrl(t)) ?? '')
  const started = await startWithAlice(t, { env: { IDENTITY_DATABASE_URL: database.url } })
  await Promise.all(Array.from({ length: 8 }, () => started.api.post('/api/auth/login', ALICE)))
  return { ...started, ...database }
}

describe('round trips to PostgreSQL', { skip: postgres?.skip }, () => {
  test('number three for a login', async (t) => {
    const { api, fewestRoundTripsOf } = await startCounted(t)

    const count = await fewestRoundTripsOf(async () => {
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)
    })

    assert.equal(count, 3)
  })

  test('number two for a refresh', async (t) => {
    const { api, pair, fewestRoundTripsOf } = await startCounted(t)
    let { refreshToken } = pair

    const count = await fewestRoundTripsOf(async () => {
      const { status, body } = await api.post('/api/auth/refresh', { refreshToken })
      assert.equal(status, 200)
      refreshToken = body.refreshToken
    })

    assert.equal(count, 2)
  })
})
