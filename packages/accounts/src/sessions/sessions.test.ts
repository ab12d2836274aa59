import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction } from '@plinth/kit/database'
import { engines, sqlite } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { ORIGIN, startAccounts, USER } from '../../testing/start-accounts.ts'
import { accountData } from '../backup-data.ts'
import { accountMigrations } from '../database/migrations/index.ts'
import {
  countActiveSessions,
  insertSession,
  listSessionAddresses,
} from '../database/sessions.repository.ts'
import { logIn } from './login.ts'
import { refreshSession } from './refresh.ts'
import { logOut, ownSessions, sessionTimes } from './sessions.ts'

const MAX_LISTED = 1000
const CALLER = { userId: '2', username: 'user', roles: ['ROLE_USER'], sessionId: '1' }

for (const engine of engines)
  describe(`own sessions on ${engine.name}`, engine.options, () => {
    test(`are listed up to ${MAX_LISTED}, most recently used first`, async (t) => {
      const { accounts, clock, db } = await startAccounts(t, engine)
      await inTransaction(db, async (inside) => {
        for (let index = 0; index <= MAX_LISTED; index += 1) {
          const address = `10.0.${index >> 8}.${index & 255}`
          const use = { ...sessionTimes(accounts), address, userAgent: null }
          const hashes = { tokenFamily: `family ${index}`, tokenHash: `token ${index}` }
          await insertSession(inside, { userId: 2, amr: ['pwd'], ...hashes, ...use })
          clock.advance(1)
        }
      })

      const listed = await ownSessions(accounts, CALLER)

      const addresses = await listSessionAddresses(db, 2, clock())
      assert.deepEqual([listed.length, addresses.length], [MAX_LISTED, MAX_LISTED])
      assert.deepEqual([listed[0]?.id, listed.at(-1)?.id], [MAX_LISTED + 1, 2])
    })

    test('are counted until they end or expire', async (t) => {
      const { accounts, clock, db } = await startAccounts(t, engine)
      const first = await logIn(accounts, USER, ORIGIN)
      await logIn(accounts, USER, ORIGIN)
      await logIn(accounts, USER, ORIGIN)
      await logOut(accounts, CALLER, first.refreshToken, ORIGIN)

      assert.equal(await countActiveSessions(db, clock()), 2)
      assert.equal(await countActiveSessions(db, new Date('2999-01-01')), 0)
    })

    test('end when a backup is restored, unless keepSessions is set', async (t) => {
      const { accounts, url } = await startAccounts(t, engine)
      const data = { databaseUrl: url, accounts: accounts.settings }
      const { database } = accountData('x', 'X_', data, {
        migrations: accountMigrations,
        sealed: {},
      })
      const pair = await logIn(accounts, USER, ORIGIN)

      await database.afterRestore(url, { keepSessions: true })
      const next = await refreshSession(accounts, pair.refreshToken, ORIGIN)
      await database.afterRestore(url, { keepSessions: false })

      await assert.rejects(refreshSession(accounts, next.refreshToken, ORIGIN), {
        code: 'INVALID_REFRESH_TOKEN',
      })
      assert.deepEqual(await ownSessions(accounts, CALLER), [])
    })
  })

test('a refresh gives its tokens even if it cannot record the day, which is logged', async (t) => {
  const { accounts, clock, db, logged } = await startAccounts(t, sqlite)
  const { refreshToken } = await logIn(accounts, USER, ORIGIN)
  await sql`create trigger refused before update of last_seen_on on users
    begin select raise(abort, 'refused'); end`.execute(db)
  clock.advance(86_400)

  const next = await refreshSession(accounts, refreshToken, ORIGIN)

  assert.notEqual(next.refreshToken, refreshToken)
  assert.deepEqual(
    logged().map(({ msg, err }) => [msg, err.message]),
    [['when users were last seen could not be recorded', 'refused']],
  )
})
