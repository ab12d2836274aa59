import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction } from '@plinth/kit'
import { engines } from '@plinth/kit/testing'
import { ORIGIN, startAccounts } from '../../testing/start-accounts.ts'
import { insertSession } from '../database/sessions.repository.ts'
import { ownSessions, sessionTimes } from './sessions.ts'

const MOST_LISTED = 1000
const CALLER = { userId: '2', username: 'user', roles: ['ROLE_USER'], sessionId: '1' }

for (const engine of engines)
  describe(`own sessions on ${engine.name}`, { skip: engine.skip }, () => {
    test(`are listed up to ${MOST_LISTED}, those used last first`, async (t) => {
      const { accounts, clock, db } = await startAccounts(t, engine)
      const { address, userAgent } = ORIGIN
      await inTransaction(db, async (inside) => {
        for (let index = 0; index <= MOST_LISTED; index += 1) {
          const use = { ...sessionTimes(accounts), address, userAgent }
          const hashes = { tokenFamily: `family ${index}`, tokenHash: `token ${index}` }
          await insertSession(inside, { userId: 2, amr: ['pwd'], ...hashes, ...use })
          clock.advance(1)
        }
      })

      const listed = await ownSessions(accounts, CALLER)

      assert.equal(listed.length, MOST_LISTED)
      assert.deepEqual([listed[0]?.id, listed.at(-1)?.id], [MOST_LISTED + 1, 2])
    })
  })
