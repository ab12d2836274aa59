import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startLoop } from './start-loop.ts'
import { bothEngines } from './start-payments.ts'

for (const engine of bothEngines)
  describe(`a checkout that fails on ${engine.name}`, engine.options, () => {
    // Without the first table an attempt cannot be read, without the second it cannot be stored.
    for (const table of ['attempts', 'observations'])
      test(`before its attempt is stored leaves no payment behind (${table})`, async (t) => {
        const { api, checkOut, payments, sandbox } = await startLoop(t, {
          databaseUrl: await engine.freshUrl(t),
        })
        const { schema } = payments.db
        await schema.alterTable(table).renameTo('away').execute()
        const broken = await checkOut({ businessReference: 'b' })
        await schema.alterTable('away').renameTo(table).execute()
        const left = await api.get('/api/payments?businessReference=b')

        const other = await checkOut({ businessReference: 'b', amount: 2000 })

        assert.equal(broken.status, 500)
        assert.equal(left.body.totalElements, 0)
        assert.equal(other.status, 201)
        assert.equal((await sandbox.sessions()).length, 1)
      })
  })
