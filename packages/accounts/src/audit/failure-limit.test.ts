import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { engines, type TestEngine } from '@plinth/kit/testing'
import { ORIGIN, startAccounts, USER } from '../../testing/start-accounts.ts'
import type { Accounts } from '../accounts.ts'
import {
  countAttempt,
  findCounted,
  takeBackAttempt,
} from '../database/counted-attempts.repository.ts'
import { logIn } from '../sessions/login.ts'
import { changeOwnPassword } from '../users/own-password.ts'

const LIMIT = 3
const CALLER = { userId: '2', username: 'user', roles: ['ROLE_USER'], sessionId: '1' }
const CHANGE = { currentPassword: USER.password, newPassword: 'another password' }
const THROTTLED = { code: 'TOO_MANY_ATTEMPTS' }

type Failing = (accounts: Accounts) => Promise<unknown>

const failedLogin: Failing = (accounts) => logIn(accounts, { ...USER, password: 'wrong' }, ORIGIN)
const failedChange: Failing = (accounts) =>
  changeOwnPassword(accounts, CALLER, { ...CHANGE, currentPassword: 'wrong' }, ORIGIN)

/** Accounts where other attempts reach the limit while the first right password is being checked. */
async function startOvertaken(t: TestContext, engine: TestEngine, fail: Failing) {
  const started = await startAccounts(t, engine, { X_FAILURE_LIMIT: String(LIMIT) })
  const { accounts } = started
  let overtaken = false
  const verify: Accounts['passwords']['verify'] = async (...password) => {
    const matches = await accounts.passwords.verify(...password)
    if (!overtaken) for (let n = 0; n < LIMIT; n += 1) await assert.rejects(fail(accounts))
    overtaken = true
    return matches
  }
  return { ...started, accounts: { ...accounts, passwords: { ...accounts.passwords, verify } } }
}

for (const engine of engines) {
  describe(`a right password checked while others fail on ${engine.name}`, engine.options, () => {
    test('opens no session once the limit is reached', async (t) => {
      const { accounts, count } = await startOvertaken(t, engine, failedLogin)

      await assert.rejects(logIn(accounts, USER, ORIGIN), THROTTLED)

      assert.equal(await count('sessions'), 0)
    })

    test('opens no session once the account is guessed from many networks', async (t) => {
      const { accounts, count } = await startAccounts(t, engine, {
        X_FAILURE_LIMIT_PER_ACCOUNT: String(LIMIT),
      })
      const verify: Accounts['passwords']['verify'] = async (...password) => {
        const matches = await accounts.passwords.verify(...password)
        // One more than the limit: the last one is the login admitted every 30 seconds.
        for (let n = 0; n <= LIMIT; n += 1) {
          const origin = { ...ORIGIN, address: `192.0.2.${n}` }
          const guess = logIn(accounts, { ...USER, password: 'wrong' }, origin)
          await assert.rejects(guess, { code: 'INVALID_CREDENTIALS' })
        }
        return matches
      }
      const overtaken = { ...accounts, passwords: { ...accounts.passwords, verify } }

      await assert.rejects(logIn(overtaken, USER, ORIGIN), THROTTLED)

      assert.equal(await count('sessions'), 0)
    })

    test('an attempt that is taken back counts no more, and the others still do', async (t) => {
      const { accounts } = await startAccounts(t, engine)
      const now = accounts.clock()
      const window = { now, endsAt: new Date(now.getTime() + 60_000) }
      for (let n = 0; n < 3; n += 1) await countAttempt(accounts.db, 'a code', window)

      await takeBackAttempt(accounts.db, 'a code')

      assert.equal((await findCounted(accounts.db, 'a code', window))?.times, 2)
      for (let n = 0; n < 3; n += 1) await takeBackAttempt(accounts.db, 'a code')
      assert.equal((await findCounted(accounts.db, 'a code', window))?.times, 0)
    })

    test('changes no password once the limit is reached', async (t) => {
      const { accounts } = await startOvertaken(t, engine, failedChange)

      await assert.rejects(changeOwnPassword(accounts, CALLER, CHANGE, ORIGIN), THROTTLED)

      assert.ok(await logIn(accounts, USER, ORIGIN))
    })
  })
}
