import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction } from '@plinth/kit'
import { engines } from '@plinth/kit/testing'
import { ORIGIN, startAccounts, USER } from '../../testing/start-accounts.ts'
import { revokeSessions } from '../database/ended-sessions.repository.ts'
import { identifyCaller, lockCaller } from './caller.ts'
import { logIn } from './login.ts'

for (const engine of engines)
  describe(`a caller on ${engine.name}`, { skip: engine.skip }, () => {
    test('whose session ended since the request began changes nothing', async (t) => {
      const { accounts, db } = await startAccounts(t, engine)
      const { accessToken } = await logIn(accounts, USER, ORIGIN)
      const caller = await identifyCaller(accounts, accessToken)
      assert.ok(caller)
      const lock = () => inTransaction(db, (inside) => lockCaller(inside, caller))

      await lock()
      await revokeSessions(db, Number(caller.userId))

      await assert.rejects(lock(), { code: 'INVALID_ACCESS_TOKEN' })
    })
  })
