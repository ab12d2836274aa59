import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createServer } from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import { StartError } from '@plinth/kit/problems'
import { engines } from '@plinth/kit/testing'
import { ORIGIN, startAccounts, USER } from '../testing/start-accounts.ts'
import { maintain, mountAccounts } from './host.ts'
import { logIn } from './sessions/login.ts'

for (const engine of engines) {
  describe(`maintenance on ${engine.name}`, engine.options, () => {
    test('removes expired sessions and failures, and nothing else', async (t) => {
      const { accounts, clock, count, maintainNow } = await startAccounts(t, engine)
      await logIn(accounts, USER, ORIGIN)
      await assert.rejects(logIn(accounts, { ...USER, password: 'wrong' }, ORIGIN))
      clock.advance(1_209_000)
      await logIn(accounts, USER, ORIGIN)
      await assert.rejects(logIn(accounts, { ...USER, password: 'wrong' }, ORIGIN))

      await maintainNow()
      assert.deepEqual([await count('sessions'), await count('failed_attempts')], [2, 3])
      clock.advance(3600)
      await maintainNow()

      assert.deepEqual([await count('sessions'), await count('failed_attempts')], [1, 0])
    })

    test('removes more than one batch, and stops when aborted', async (t) => {
      const { accounts, clock, db, count, maintainNow } = await startAccounts(t, engine)
      const expired = { attempt: '', failures: 1, ends_at: clock().toISOString() }
      const rows = Array.from({ length: 1200 }, (_, n) => ({ ...expired, attempt: `a${n}` }))
      await db.insertInto('failed_attempts').values(rows).execute()

      await maintain(accounts, AbortSignal.abort())
      assert.equal(await count('failed_attempts'), 1200)
      await maintainNow()

      assert.equal(await count('failed_attempts'), 0)
    })

    test('removes audit events after a year', async (t) => {
      const { accounts, clock, count, maintainNow } = await startAccounts(t, engine)
      await logIn(accounts, USER, ORIGIN)
      clock.advance(364 * 86_400)
      await maintainNow()
      assert.equal(await count('audit_events'), 1)
      clock.advance(86_400)

      await maintainNow()

      assert.equal(await count('audit_events'), 0)
    })

    test('announces a new signing key after ninety days', async (t) => {
      const { accounts, clock, maintainNow } = await startAccounts(t, engine)
      clock.advance(90 * 86_400)

      await maintainNow()

      assert.equal((await accounts.signingKeys.published()).length, 2)
    })
  })
  describe(`mounting the accounts on ${engine.name}`, engine.options, () => {
    test('closes the server on failure and reports the original error', async (t) => {
      const { accounts, clock, db } = await startAccounts(t, engine)
      const server = createServer({ log: createLogger('test', 'silent'), clock })
      let closed = false
      server.onClose(async () => {
        closed = true
        throw new Error('the second failure')
      })
      const refused = { demoAccounts: false, demoAccountsRefusedFor: 'X_DEMO_ACCOUNTS' }

      const mounting = mountAccounts(server, db, { ...accounts.settings, ...refused })

      await assert.rejects(mounting, StartError)
      assert.ok(closed)
    })
  })
}
