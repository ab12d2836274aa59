import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction } from '@plinth/kit/database'
import { engines } from '@plinth/kit/testing'
import { ORIGIN, startAccounts, USER } from '../../testing/start-accounts.ts'
import { revokeSessions } from '../database/ended-sessions.repository.ts'
import { findUserByUsername, updateUserState } from '../database/users.repository.ts'
import { changeUser } from '../users/changes.ts'
import { identifyCaller, lockCaller } from './caller.ts'
import { logIn } from './login.ts'

for (const engine of engines)
  describe(`a caller on ${engine.name}`, engine.options, () => {
    test('is refused in the transaction when the session ended after the request began', async (t) => {
      const { accounts, db } = await startAccounts(t, engine)
      const { accessToken } = await logIn(accounts, USER, ORIGIN)
      const caller = await identifyCaller(accounts, accessToken)
      assert.ok(caller)
      const lock = () => inTransaction(db, (inside) => lockCaller(inside, caller))

      await lock()
      await revokeSessions(db, Number(caller.userId))

      await assert.rejects(lock(), { code: 'INVALID_ACCESS_TOKEN' })
    })

    test('cannot grant rights after losing the admin role or the session', async (t) => {
      const { accounts, db } = await startAccounts(t, engine)
      const { accessToken } = await logIn(accounts, { ...USER, username: 'admin' }, ORIGIN)
      const caller = await identifyCaller(accounts, accessToken)
      const user = await findUserByUsername(db, 'user')
      assert.ok(caller && user)
      const by = { actor: 'admin', origin: ORIGIN, caller }
      const change = (roles: string[]) => changeUser(accounts, user.id, { roles }, by)

      await change(['ROLE_ADMIN'])
      const demoted = { enabled: true, roles: ['ROLE_USER'] }
      await updateUserState(db, Number(caller.userId), demoted)
      await assert.rejects(change(['ROLE_USER']), { code: 'ACCESS_DENIED' })

      await updateUserState(db, Number(caller.userId), { ...demoted, roles: ['ROLE_ADMIN'] })
      await revokeSessions(db, Number(caller.userId))
      await assert.rejects(change(['ROLE_USER']), { code: 'INVALID_ACCESS_TOKEN' })
      assert.deepEqual((await findUserByUsername(db, 'user'))?.roles, ['ROLE_ADMIN'])
    })
  })
